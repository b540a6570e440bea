/**
 * What the survivors wait for when a worker dies: the table "Faults" of docs/benchmarks.md. Four real worker processes, a replica of
 * 16 MB, steps of 20 ms, P = 2, the default liveness time-out; the fault is set by the event that opens its phase. A few
 * minutes. Needs `npm run build`.
 *
 *   node bench/fault-scenarios.mjs [repeats]
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { controller } from '../dist/client.js';

const [repeats = 5] = process.argv.slice(2).map(Number);
const WORKER = fileURLToPath(new URL('../test/process/fixtures/vector-worker.mjs', import.meta.url));
const WORKERS = 4;
const LENGTH = 4_000_000;
const STEP_MS = 20;
const GROUPS_AFTER = 20;

const isStep = (event) => event.type === 'groupFormed' && event.kind === 'step' && event.kMax > 5;
const inGroup = (event) => (isStep(event) ? [event.members[1]] : []);
const outsideOf = ({ members }) => [0, 1, 2, 3].find((worker) => !members.includes(worker));
/** Name, when to strike whom, and what is different from SIGKILL of one of four. */
const SCENARIOS = [
  ['killed while it computes', (event) => (isStep(event) ? [outsideOf(event)] : [])],
  [
    'killed while it waits for a group',
    (event, { queue }) => (event.type === 'ready' && event.k > 5 && queue.length === 0 ? [event.worker] : []),
  ],
  ['killed in a collective', inGroup],
  ['two killed, the members of one group', (event) => (isStep(event) ? event.members : [])],
  ['two killed, one in a collective', (event) => (isStep(event) ? [event.members[0], outsideOf(event)] : [])],
  [
    'killed as donor of a joiner',
    (event) => (event.type === 'transferStarted' && event.worker === WORKERS ? [event.donor] : []),
    { joins: true },
  ],
  [
    'joiner killed',
    (event) => (event.type === 'transferStarted' && event.worker === WORKERS ? [WORKERS] : []),
    { joins: true },
  ],
  ['stopped (SIGSTOP) in a collective', inGroup, { signal: 'SIGSTOP' }],
  [
    'killed in the final average',
    (event) => (event.type === 'groupFormed' && event.kind === 'final' ? [event.members[1]] : []),
    { stops: true },
  ],
];

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** One run; milliseconds from the fault to the next group without the dead, and what became of everybody. */
async function strike([, victimsOf, { signal = 'SIGKILL', joins = false, stops = false } = {}]) {
  const processes = new Map();
  const children = [];
  const groups = { next: null, ofMembers: null, after: 0, aborted: 0 };
  let fault = null;
  let isOver = () => undefined;
  const over = new Promise((resolve) => {
    isOver = resolve;
  });

  function startWorker() {
    const child = fork(WORKER, [String(LENGTH), String(STEP_MS)], {
      env: { ...process.env, PREDUCE_CONTROLLER: running.url },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    children.push(new Promise((resolve) => child.once('close', (code) => resolve(code))));
    processes.set(child.pid, child);
  }

  const pids = new Map();
  function onEvent(event) {
    if (event.type === 'workerJoined') pids.set(event.worker, event.pid);
    if (event.type === 'runEnded') isOver();
    if (fault === null) {
      const victims = victimsOf(event, running?.view() ?? { queue: [] });
      if (victims.length === 0) return;
      for (const worker of victims) processes.get(pids.get(worker)).kill(signal);
      // Who waited with the dead, and waits on.
      const hit = event.type === 'groupFormed' ? event.members.filter((worker) => !victims.includes(worker)) : [];
      fault = { timeMs: event.timeMs, victims, hit };
      return;
    }
    if (event.type === 'groupClosed' && event.aborted) groups.aborted += 1;
    if (event.type !== 'groupFormed' || event.members.some((worker) => fault.victims.includes(worker))) return;
    groups.next ??= event.timeMs - fault.timeMs;
    if (event.members.some((worker) => fault.hit.includes(worker))) groups.ofMembers ??= event.timeMs - fault.timeMs;
    groups.after += 1;
    if (groups.after === GROUPS_AFTER && !stops) running.stop('seen enough');
  }

  const running = await controller({
    core: { minWorkers: WORKERS, groupSize: 2, maxLocalSteps: stops ? 60 : null },
    onEvent,
  });
  for (let i = 0; i < WORKERS; i += 1) startWorker();
  if (joins) setTimeout(startWorker, 1500);
  await over;
  await running.ended;
  for (const worker of fault.victims) processes.get(pids.get(worker)).kill('SIGKILL');
  const exits = await Promise.all(children);
  const survivors = exits.filter((code) => code === 0).length;
  await running.close();
  const started = children.length - fault.victims.length;
  return { ...groups, survivors: `${survivors} of ${started}` };
}

process.stdout.write(
  '| fault | survivors that ended well | next group | its fellow in the next group | groups aborted |\n| --- | --- | --- | --- | --- |\n',
);
for (const scenario of SCENARIOS) {
  const results = [];
  while (results.length < repeats) results.push(await strike(scenario));
  const survivors = [...new Set(results.map((result) => result.survivors))].join(', ');
  const fellows = results.map(({ ofMembers }) => ofMembers).filter((value) => value !== null);
  const fellow = fellows.length === 0 ? '' : `${median(fellows).toFixed(0)} ms`;
  const next = median(results.map((result) => result.next));
  const aborted = [...new Set(results.map((result) => result.aborted))].toSorted((a, b) => a - b).join(' to ');
  process.stdout.write(`| ${String(scenario[0])} | ${survivors} | ${next.toFixed(0)} ms | ${fellow} | ${aborted} |\n`);
}
