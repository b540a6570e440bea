/**
 * Workers that come and go (algorithms.md 3.3): a run with fewer than it shall have waits, visibly; one that dies again and again is
 * let in later each time.
 */
import { afterEach, expect, it } from 'vitest';
import { type Fleet, startFleet } from './fleet.js';

const LIVENESS_MS = 1000;
/** The first cool-down lasts one of these: longer than a process takes to start on a busy machine, or nobody would have to wait. */
const COOL_DOWN_MS = 4000;

let fleet: Fleet | null = null;

afterEach(async () => {
  await fleet?.close();
  fleet = null;
});

it('waits below --min-workers, says so, and goes on when another worker has joined', async () => {
  const core = { minWorkers: 2, minLiveWorkers: 2, livenessMs: LIVENESS_MS };
  const of = await startFleet({ core, length: 1000 });
  fleet = of;
  for (let i = 0; i < 2; i += 1) of.start();
  await of.when((event) => event.type === 'ready' && event.k > 5);
  of.processOf(1).process.kill('SIGKILL');
  const pause = await of.when((event) => event.type === 'fault' && event.kind === 'paused');
  expect(pause).toMatchObject({ message: expect.stringContaining('1 of at least 2 workers') });
  await of.when((event) => event.type === 'workerDead' && event.worker === 1);
  of.start();
  const end = await of.when((event) => event.type === 'fault' && event.kind === 'paused' && event !== pause);
  expect(end).toMatchObject({ message: 'going on with 2 workers' });
  const group = await of.when((event) => event.type === 'groupFormed' && event.members.includes(2 as never));
  expect(group).toMatchObject({ members: expect.arrayContaining([0]) });
  const waited = of.events.slice(of.events.indexOf(pause), of.events.indexOf(end));
  expect(waited.filter(({ type }) => type === 'released' || type === 'groupFormed')).toEqual([]);
  of.running.stop('seen enough');
  expect(await of.when((event) => event.type === 'runEnded')).toMatchObject({ holders: [0, 2] });
  await of.running.ended;
});

it('keeps a worker waiting that has died three times soon after joining', async () => {
  const of = await startFleet({ core: { minWorkers: 1, livenessMs: COOL_DOWN_MS }, length: 1000 });
  fleet = of;
  of.start();
  await of.when((event) => event.type === 'started');
  for (let worker = 1; worker <= 3; worker += 1) {
    of.start();
    await of.when((event) => event.type === 'ready' && event.worker === worker);
    of.processOf(worker).process.kill('SIGKILL');
    await of.when((event) => event.type === 'workerDead' && event.worker === worker);
  }
  of.start();
  const held = await of.when((event) => event.type === 'fault' && event.kind === 'cool-down');
  expect(held).toMatchObject({ message: expect.stringContaining('died 3 times soon after joining') });
  const joined = await of.when((event) => event.type === 'workerJoined' && event.worker === 4);
  const lastDeath = await of.when((event) => event.type === 'workerDead' && event.worker === 3);
  expect(joined.timeMs - lastDeath.timeMs).toBeGreaterThanOrEqual(COOL_DOWN_MS - 1);
  await of.when((event) => event.type === 'ready' && event.worker === 4);
  of.running.stop('seen enough');
  expect(await of.when((event) => event.type === 'runEnded')).toMatchObject({ holders: [0, 4] });
});
