/**
 * A real controller whose run ends while its evaluator, driven by hand, answers, hangs, dies or comes again.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type ControlClient, connectClient, HELLO, JOIN } from '../../test/support/control-client.js';
import type { RunEvent } from '../observe/run-events.js';
import { controller, type RunningController } from './run-controller.js';

const LONG_MS = 60_000;
const SHORT_MS = 500;

interface EndingRun {
  readonly running: RunningController;
  /** `evaluated` and evaluation faults, in order. */
  readonly told: readonly string[];
  /** An evaluator that was welcomed. */
  evaluator(): Promise<ControlClient>;
  /** Ends the run: the only worker holds the final model. */
  end(): Promise<void>;
}

const open: RunningController[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((running) => running.close()));
});

function toldOf(event: RunEvent): string | null {
  if (event.type === 'evaluated') return `evaluated ${event.mark}${event.final ? ' (final)' : ''}`;
  return event.type === 'fault' && event.kind === 'evaluation' ? event.message : null;
}

async function startRun(livenessMs: number, expectsEvaluator = false): Promise<EndingRun> {
  const told: string[] = [];
  const running = await controller({
    core: { livenessMs, minWorkers: 1 },
    expectsEvaluator,
    onEvent(event) {
      const line = toldOf(event);
      if (line !== null) told.push(line);
    },
  });
  open.push(running);
  const worker = await connectClient(running.url);
  const alive = setInterval(() => worker.send({ type: 'heartbeat' }), SHORT_MS / 20);
  void worker.closed.then(() => clearInterval(alive));
  worker.send(HELLO);
  worker.send(JOIN);
  await worker.next('joined');
  worker.send({ type: 'synced', k: 0 });
  await worker.next('start');
  return {
    running,
    told,
    async evaluator() {
      const client = await connectClient(running.url);
      client.send({ ...HELLO, role: 'evaluator' });
      await client.next('welcome');
      return client;
    },
    async end() {
      running.stop('enough');
      await worker.next('finish');
      worker.send({ type: 'finished' });
      const { group } = await worker.next('group');
      worker.send({ type: 'done', group, bytesSent: 0, reduceMs: 0 });
    },
  };
}

/** Answers the next request as a real evaluator does. */
async function answer(client: ControlClient): Promise<void> {
  const { mark, final } = await client.next('evaluate');
  expect(final).toBe(true);
  client.send({ type: 'evaluated', mark, loss: 1, accuracy: 0.5, replicas: 1, cpuMs: 1 });
}

/** Whether the run is over by now. */
async function isOver({ running }: EndingRun): Promise<boolean> {
  return Promise.race([running.ended.then(() => true), Promise.resolve(false)]);
}

describe('the end of a run', () => {
  it('waits for the final evaluation', async () => {
    const run = await startRun(LONG_MS);
    const evaluator = await run.evaluator();
    await run.end();
    await answer(evaluator);
    await run.running.ended;
    expect(run.told).toEqual(['evaluated 1 (final)']);
    expect(await evaluator.next('close')).toMatchObject({ reason: 'the run is over' });
  });

  it('does not wait for an evaluator where there never was one', async () => {
    const run = await startRun(LONG_MS);
    await run.end();
    await run.running.ended;
    expect(run.told).toEqual([]);
  });

  it('waits for the first evaluator where one is expected', async () => {
    const run = await startRun(LONG_MS, true);
    await run.end();
    await answer(await run.evaluator());
    await run.running.ended;
    expect(run.told).toEqual(['evaluated 1 (final)']);
  });

  it('waits for an expected evaluator no longer than the liveness time-out', async () => {
    const run = await startRun(SHORT_MS, true);
    await run.end();
    await run.running.ended;
    expect(run.told).toEqual([expect.stringMatching(/^evaluation 1 failed: no sign of life/)]);
  });

  it('waits for an evaluation that failed no longer', async () => {
    const run = await startRun(LONG_MS);
    const evaluator = await run.evaluator();
    await run.end();
    const { mark } = await evaluator.next('evaluate');
    evaluator.send({ type: 'evaluationFailed', mark, reason: 'the disk is full' });
    await run.running.ended;
    expect(run.told).toEqual(['evaluation 1 failed: the disk is full']);
  });

  it('waits for a slow evaluator that sends heartbeats', async () => {
    const run = await startRun(SHORT_MS);
    const evaluator = await run.evaluator();
    const alive = setInterval(() => evaluator.send({ type: 'heartbeat' }), SHORT_MS / 20);
    await run.end();
    const { mark } = await evaluator.next('evaluate');
    // As long as a connection that says nothing at all takes to be closed.
    const silent = await connectClient(run.running.url);
    await silent.closed;
    expect(await isOver(run)).toBe(false);
    evaluator.send({ type: 'evaluated', mark, loss: 1, accuracy: 0.5, replicas: 1, cpuMs: 1 });
    await run.running.ended;
    clearInterval(alive);
    expect(run.told).toEqual(['evaluated 1 (final)']);
  });

  it('gives up an evaluator that hangs over it', async () => {
    const run = await startRun(SHORT_MS);
    const evaluator = await run.evaluator();
    await run.end();
    await evaluator.next('evaluate');
    await run.running.ended;
    expect(run.told).toEqual([
      expect.stringMatching(/^evaluation 1 failed: no sign of life from the evaluator for \d+ ms$/),
    ]);
  });

  it('gives up an evaluator that died and does not come again', async () => {
    const run = await startRun(SHORT_MS);
    const evaluator = await run.evaluator();
    evaluator.terminate();
    await run.end();
    await run.running.ended;
    expect(run.told).toEqual([expect.stringMatching(/^evaluation 1 failed: no sign of life/)]);
  });

  it.each([
    ['before it', false],
    ['over it', true],
  ])('waits for the successor of an evaluator that died %s', async (_name, hasBegun) => {
    const run = await startRun(LONG_MS);
    const first = await run.evaluator();
    if (hasBegun) {
      await run.end();
      await first.next('evaluate');
    }
    first.terminate();
    await first.closed;
    if (!hasBegun) await run.end();
    let second = await connectClient(run.running.url);
    // Its place is free as soon as the controller knows of the death.
    for (;;) {
      second.send({ ...HELLO, role: 'evaluator' });
      if (
        await second.next('welcome').then(
          () => true,
          () => false,
        )
      )
        break;
      second = await connectClient(run.running.url);
    }
    await answer(second);
    await run.running.ended;
    expect(run.told).toEqual(['evaluated 1 (final)']);
  });

  it('gives up when one evaluator after the other dies over it', async () => {
    const run = await startRun(LONG_MS);
    let evaluator = await run.evaluator();
    await run.end();
    for (let deaths = 0; ; deaths += 1) {
      await evaluator.next('evaluate');
      evaluator.terminate();
      if (deaths === 2) break;
      await expect
        .poll(() =>
          run.evaluator().then(
            (next) => (evaluator = next),
            () => null,
          ),
        )
        .not.toBeNull();
    }
    await run.running.ended;
    expect(run.told).toEqual(['evaluation 1 failed: 3 evaluators died over it']);
  });
});
