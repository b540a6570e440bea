/**
 * The rules of a group that is formed: who may be in it, of what size it is, what the weights are (algorithms.md 3.1, 4, 6).
 */
import { assert } from '../../base/assert.js';
import type { Group, GroupMember } from '../../core/group.js';
import { strategies } from '../../core/strategies/strategies.js';
import type { RunView } from '../../core/view.js';
import { activeWorkers, type Books, expectedWorkers, lifeKey, waitingWorkers } from './lives.js';
import type { Scenario } from './scenario.js';
import { isPaused } from './waiting-rules.js';

const TOLERANCE = 1e-12;

/** Before the group is in the books. `view`: after the step that formed it. */
export function checkGroup(scenario: Scenario, books: Books, group: Group, view: RunView): void {
  const { members, kind, id } = group;
  assert(!books.open.has(id) && !books.closed.has(id), `group ${id} is formed twice`);
  assert(new Set(members.map(({ worker }) => worker)).size === members.length, `a worker is in group ${id} twice`);
  for (const member of members) checkMember(books, group, member);
  assert(group.kMax === Math.max(...members.map(({ k }) => k)), `group ${id}: kMax ${group.kMax}`);
  if (kind === 'step') assert(!isPaused(scenario, books, view), `group ${id} is formed while the run is paused`);
  const { usesServers = false, passive } = strategies[scenario.strategy];
  if (kind === 'final') checkFinal(books, group);
  else if (usesServers) checkServed(scenario, books, group, view);
  else if (passive !== undefined) checkPassive(scenario, books, group);
  else checkAveraged(scenario, books, group, view);
  if (kind === 'step' && usesServers) checkShares(books, group);
  else checkWeights(scenario, books, group);
}

function checkMember({ lives, open }: Books, { id, kind }: Group, member: GroupMember): void {
  const { worker, incarnation, k, passive = false } = member;
  const life = lives.get(worker);
  assert(life?.incarnation === incarnation, `group ${id} has worker ${worker}, whose life is over`);
  assert(life.synced, `group ${id} has worker ${worker}, which has no model`);
  assert(!life.suspect, `group ${id} has worker ${worker}, a suspect`);
  assert(life.unreported === null, `worker ${worker} is in group ${life.unreported} and in group ${id}`);
  for (const other of open.values()) {
    const isIn = other.group.members.some((one) => lifeKey(one) === lifeKey(member));
    assert(!isIn, `worker ${worker} is in the open groups ${other.group.id} and ${id}`);
  }
  assert(k >= life.k, `group ${id} has worker ${worker} with k ${k}, which was ${life.k} before`);
  if (kind === 'step' && !passive)
    assert(life.ready?.k === k, `group ${id} takes k ${k} of worker ${worker}, not ${life.ready?.k}`);
}

function checkFinal({ lives, open }: Books, { members }: Group): void {
  assert(open.size === 0, `the final group is formed while ${open.size} groups are open`);
  const holders = [...lives.values()].filter(({ synced }) => synced);
  assert(holders.length === members.length, `the final group has ${members.length} of ${holders.length} replicas`);
  const moving = holders.find(({ finished }) => !finished);
  assert(moving === undefined, `the final group is formed before worker ${moving?.worker} has finished`);
}

/** Groups of replicas, or of gradients that everybody applies. */
function checkAveraged(scenario: Scenario, books: Books, { id, members }: Group, view: RunView): void {
  assert(members.length >= 2, `group ${id} has ${members.length} members`);
  const [oldest] = waitingWorkers(books);
  const isOldest = members[0]?.worker === oldest?.worker || oldest?.sound === false;
  assert(isOldest, `group ${id} passes over worker ${oldest?.worker}, who waits longest`);
  const isSound = members.some(({ worker }) => books.lives.get(worker)?.sound);
  assert(isSound, `group ${id} has no finite member`);
  const active = activeWorkers(books, view);
  if (scenario.strategy !== 'partial-reduce') {
    assert(members.length === active.length, `round ${id} has ${members.length} of ${active.length} active workers`);
    return checkRound(scenario, { id, members });
  }
  assert(members.length <= scenario.groupSize, `group ${id} has ${members.length} members, more than P`);
  const isWhole = members.length === Math.min(scenario.groupSize, expectedWorkers(books, view).length);
  assert(isWhole || view.finishReason !== null, `group ${id} has ${members.length} of ${active.length} active workers`);
}

/** Synchronous replicas are the same as long as no fault cuts a round in two. */
function checkRound(scenario: Scenario, { id, members }: Pick<Group, 'id' | 'members'>): void {
  const { strategy, ledger, deaths, stalls, hangs, giveUpRate, crashes, cuts, restarts } = scenario;
  const isCut = [deaths, stalls, hangs, giveUpRate, crashes, cuts, restarts].some((faults) => faults > 0);
  // Where leases come back at the end of the data, who waited idle for one is behind; a round of local SGD may be cut short.
  if (strategy !== 'all-reduce' || isCut || ledger !== null) return;
  const rounds = new Set(members.map(({ k }) => k));
  assert(rounds.size === 1, `group ${id} has members of the rounds ${[...rounds].join()}`);
}

/** Odd workers are passive, one in each group; a round has everybody who holds the model. */
function checkPassive({ strategy }: Scenario, { lives }: Books, { id, members }: Group): void {
  if (strategy === 'ad-psgd') {
    const parities = members.map(({ worker, passive = false }) => `${worker % 2}${passive ? ' passive' : ''}`);
    assert(parities.join() === '0,1 passive', `group ${id} has members ${parities.join()}`);
    const isSound = members.some(({ worker }) => lives.get(worker)?.sound);
    assert(isSound, `group ${id} has no finite member`);
    return;
  }
  const holders = [...lives.values()].filter(({ started, suspect, leaving }) => started && !suspect && !leaving);
  const missing = holders.filter(({ worker }) => !members.some((member) => member.worker === worker));
  assert(missing.length === 0, `round ${id} is without worker ${missing.map(({ worker }) => worker).join()}`);
}

/** Rounds are of the size that the strategy says, but for a late gradient that is discarded; nobody is too far ahead. */
function checkServed(scenario: Scenario, books: Books, { id, members, collective }: Group, view: RunView): void {
  assert(collective === 'server', `group ${id} does not go to the servers`);
  const { strategy, backups, staleness } = scenario;
  const active = activeWorkers(books, view);
  const isDiscarded = members.length === 1 && members[0]?.weight === 0;
  if (strategy === 'ps-bsp' || strategy === 'ps-backup') {
    const least = Math.max(1, active.length - (strategy === 'ps-backup' ? backups : 0));
    assert(isDiscarded || members.length === least, `round ${id} has ${members.length} members, expected ${least}`);
    return;
  }
  assert(members.length === 1, `group ${id} has ${members.length} members`);
  if (strategy !== 'ps-ssp') return;
  const completed = active.map((worker) => {
    const k = view.workers.find((each) => each.worker === worker)?.k ?? 0;
    return books.lives.get(worker)?.ready?.k ?? k;
  });
  const ahead = (members[0]?.k ?? 0) - Math.min(...completed);
  assert(ahead <= staleness, `group ${id}: its worker is ${ahead} iterations ahead, at most ${staleness} are allowed`);
}

/** Shares of gradients: 0 where they are not finite, or late; at most the whole of one gradient together. */
function checkShares({ lives }: Books, { id, members }: Group): void {
  for (const { worker, weight } of members) {
    const isRight = weight >= 0 && (weight === 0 || lives.get(worker)?.finite === true);
    assert(isRight, `group ${id}: weight ${weight} of ${worker}`);
  }
  const sum = members.reduce((total, { weight }) => total + weight, 0);
  assert(sum <= 1 + TOLERANCE, `group ${id}: weights sum to ${sum}`);
  if (members.length > 1) assert(sum === 0 || Math.abs(sum - 1) <= TOLERANCE, `group ${id}: weights sum to ${sum}`);
}

function checkWeights(scenario: Scenario, { lives }: Books, { id, members, kind, finite: isFinite }: Group): void {
  const sum = members.reduce((total, { weight }) => total + weight, 0);
  assert(Math.abs(sum - 1) <= TOLERANCE, `group ${id}: weights sum to ${sum}`);
  // What a passive member of a round brings is what its buffer holds: always finite.
  const isCounted = ({ worker, passive = false }: GroupMember): boolean => {
    const life = lives.get(worker);
    if (kind === 'final' || passive) return life?.sound === true;
    return life?.finite === true;
  };
  const finite = members.filter(isCounted);
  assert(isFinite === finite.length > 0, `group ${id} is said to be ${isFinite ? '' : 'not '}finite`);
  for (const { worker, weight } of members) {
    assert(weight >= 0, `group ${id}: weight ${weight}`);
    const counts = finite.length === 0 || finite.some((member) => member.worker === worker);
    assert(counts ? weight > 0 : weight === 0, `group ${id}: weight ${weight} of worker ${worker}`);
  }
  const { strategy, weights, weighting } = scenario;
  const isConstant = strategy !== 'partial-reduce' || weights.rule === 'constant';
  if (kind === 'step' && (!isConstant || weighting !== 'equal')) return;
  const unequal = finite.find(({ weight }) => Math.abs(weight - 1 / finite.length) > TOLERANCE);
  assert(
    unequal === undefined,
    `group ${id}: weight ${unequal?.weight} of worker ${unequal?.worker}, not an equal one`,
  );
}
