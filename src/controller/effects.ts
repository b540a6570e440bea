/**
 * Carries out what core wants done: messages to workers, and the run's story.
 */
import type { LeaseId, WorkerId } from '../base/ids.js';
import type { Effect } from '../core/effects.js';
import { refuse, turnAway } from './connections.js';
import { resumeSecret } from './resume-secret.js';
import type { RunParts } from './run-parts.js';

type EffectOf<K extends Effect['type']> = Extract<Effect, { type: K }>;

export function carryOut(run: RunParts, effect: Effect): void {
  const { sessions, story, evaluations } = run;
  switch (effect.type) {
    case 'admit':
      return admit(run, effect);
    case 'refuse': {
      const session = sessions.find(effect.ticket);
      if (session !== undefined) refuse(run, session, { code: 'refused', message: effect.reason });
      return;
    }
    case 'welcomeBack':
      return welcomeBack(run, effect);
    case 'returnRefused': {
      const { ticket, reason, rejoin } = effect;
      const session = sessions.find(ticket);
      if (session !== undefined) turnAway(run, session, { reason, rejoin });
      return;
    }
    case 'persist':
      return run.persist(effect.facts);
    case 'seed':
      return sessions.send(effect, { type: 'seed' });
    case 'transfer':
      return startTransfer(run, effect);
    case 'start':
      return start(run, effect);
    case 'formGroup':
      return formGroup(run, effect);
    case 'abortGroup':
      return abortGroup(run, effect);
    case 'groupClosed': {
      const { group, committed, aborted } = effect;
      if (aborted) tellServersOfAbort(run, { group: group.id, committed, reason: 'it was given up' });
      return story.tell({ type: 'groupClosed', group: group.id, kind: group.kind, committed, aborted });
    }
    case 'release':
      sessions.send(effect, { type: 'release', k: effect.k, progress: effect.progress });
      return story.tell({ type: 'released', worker: effect.worker, k: effect.k });
    case 'wentOn':
      return story.tell({ type: 'wentOn', worker: effect.worker });
    case 'lease': {
      const { worker, lease, progress } = effect;
      sessions.send(effect, { type: 'lease', lease, progress });
      const { epoch, count } = lease;
      return story.tell({ type: 'leased', worker, lease: lease.id as LeaseId, epoch, count });
    }
    case 'finish':
      return sessions.send(effect, { type: 'finish', reason: effect.reason });
    case 'left':
      sessions.release(effect, { type: 'left' });
      return story.tell({ type: 'workerLeft', worker: effect.worker });
    case 'dead':
      sessions.release(effect, { type: 'close', reason: `declared dead: ${effect.reason}`, rejoin: true });
      return story.tell({ type: 'workerDead', worker: effect.worker, reason: effect.reason });
    case 'violation':
      sessions.release(effect, { type: 'close', reason: `protocol violation: ${effect.message}` });
      return story.tell({ type: 'fault', kind: 'violation', worker: effect.worker, message: effect.message });
    case 'evaluate':
      return evaluations.request(effect);
    case 'askCheckpoint': {
      const { checkpoint, fromK } = effect;
      for (const life of effect.workers) sessions.send(life, { type: 'checkpoint', checkpoint, fromK });
      return;
    }
    case 'checkpoint':
      return run.checkpoints.write(effect);
    case 'checkpointFailed': {
      const { checkpoint, worker, reason } = effect;
      return story.tell({ type: 'fault', kind: 'checkpoint', worker, message: `checkpoint ${checkpoint}: ${reason}` });
    }
    case 'runEnded':
      return endRun(run, effect);
    case 'log':
      return story.tell({ type: 'fault', kind: effect.kind, worker: effect.worker, message: effect.message });
    default:
      effect satisfies never;
  }
}

function admit({ sessions, settings, story }: RunParts, { ticket, worker, incarnation }: EffectOf<'admit'>): void {
  const { peer, join } = sessions.admit(ticket, { worker, incarnation });
  const { runKey, resumeKey } = settings;
  const secret = resumeSecret(resumeKey, { worker, incarnation });
  peer.send({ type: 'joined', worker, incarnation, runKey, secret });
  story.tell({ type: 'workerJoined', worker, incarnation, hostname: join.hostname, pid: join.pid });
}

function welcomeBack({ sessions, story }: RunParts, effect: EffectOf<'welcomeBack'>): void {
  const { ticket, worker, incarnation, progress } = effect;
  const { peer, resume } = sessions.takeBack(ticket, { worker, incarnation });
  peer.send({ type: 'resumed', progress });
  const { k, localSteps, samples } = resume;
  story.tell({ type: 'workerResumed', worker, incarnation, k, localSteps, samples });
}

function startTransfer({ sessions, story }: RunParts, { joiner, donor }: EffectOf<'transfer'>): void {
  const session = sessions.of(joiner);
  const [peer] = sessions.peersOf([donor.worker]);
  if (session !== null && peer !== undefined) {
    session.donor = donor.worker;
    session.peer.send({ type: 'transfer', donor: peer });
  }
  story.tell({ type: 'transferStarted', worker: joiner.worker, donor: donor.worker });
}

function start({ sessions, story, onStarted }: RunParts, effect: EffectOf<'start'>): void {
  if (!story.started) {
    story.start();
    story.tell({ type: 'started', workers: sessions.workers });
    onStarted();
  }
  sessions.send(effect, { type: 'start' });
}

function tellServersOfAbort(
  { servers }: RunParts,
  { group, committed, reason }: Pick<EffectOf<'abortGroup'>, 'group' | 'committed' | 'reason'>,
): void {
  servers.broadcast({ type: 'abort', group, reason, keep: committed.length > 0 });
}

function formGroup({ sessions, story, servers }: RunParts, { group, progress }: EffectOf<'formGroup'>): void {
  const { id, kind, collective, kMax } = group;
  const members = group.members.map(({ worker, incarnation, k, weight }) => ({
    worker,
    incarnation,
    address: sessions.addressOf(worker),
    k,
    weight,
  }));
  const robust = group.clips === true ? ({ robust: 'clip' } as const) : {};
  const message = { type: 'group', group: id, kind, collective, members, kMax, progress, ...robust } as const;
  const told = collective === 'server' ? { ...message, servers: [...servers.peers()] } : message;
  // Servers first, so that they are told of groups before they are told that one is aborted.
  if (collective === 'server') servers.broadcast(told);
  for (const member of group.members) sessions.send(member, told);
  story.tell({
    type: 'groupFormed',
    group: id,
    kind,
    members: group.members.map((member) => member.worker),
    ...passiveOf(group),
    weights: group.members.map((member) => member.weight),
    staleness: group.members.map((member) => kMax - member.k),
    kMax,
  });
}

/** Left out where nobody is. */
function passiveOf({ members }: EffectOf<'formGroup'>['group']): { readonly passive?: readonly WorkerId[] } {
  const passive = members.filter((member) => member.passive === true).map((member) => member.worker);
  return passive.length === 0 ? {} : { passive };
}

function abortGroup(run: RunParts, effect: EffectOf<'abortGroup'>): void {
  const { group, members, reason } = effect;
  const { sessions, story } = run;
  tellServersOfAbort(run, effect);
  for (const member of members) sessions.send(member, { type: 'abort', group, reason });
  story.tell({ type: 'fault', kind: 'abort', worker: null, message: `group ${group}: ${reason}` });
}

/** Closes the run when its last checkpoint is written and its final model is evaluated. */
function endRun(run: RunParts, { reason, holders, progress }: EffectOf<'runEnded'>): void {
  const { core, sessions, story, evaluations, checkpoints, onOver } = run;
  const { maxGroupsToConnect, holdMs, holdsExpired } = core.view();
  const rho = core.rho();
  const timeMs = story.nowMs();
  story.tell({ type: 'runEnded', reason, holders, ...progress, rho, maxGroupsToConnect, holdMs, holdsExpired }, timeMs);
  const evaluated = evaluations.requestFinal({ progress, workers: holders, timeMs });
  void Promise.all([evaluated, checkpoints.written()]).then(() => {
    for (const { life } of sessions.all()) {
      if (life !== null) sessions.release(life, { type: 'close', reason: `the run is over: ${reason}` });
    }
    evaluations.close();
    run.servers.close(`the run is over: ${reason}`);
    onOver();
  });
}
