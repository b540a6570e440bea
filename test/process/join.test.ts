/**
 * `joinRun` as a user's program calls it, several workers in one process, around a real controller.
 */
import {
  controller,
  type ControllerOptions,
  joinRun,
  type JoinRunOptions,
  type Run,
  type RunEvent,
  type RunningController,
} from 'preduce/client';
import { afterEach, describe, expect, it } from 'vitest';

const layout = [
  { name: 'w', shape: [2, 3] },
  { name: 'b', shape: [2] },
];
const LENGTH = 8;

let running: RunningController[] = [];

afterEach(async () => {
  await Promise.all(running.map((each) => each.close()));
  running = [];
});

async function start(
  core: ControllerOptions['core'] = {},
  options: Omit<ControllerOptions, 'core'> = {},
): Promise<RunningController> {
  // Groups of equals: averages are then plain means.
  const started = await controller({ ...options, core: { weights: { rule: 'constant' }, ...core } });
  running.push(started);
  return started;
}

function join(to: RunningController, options: Partial<JoinRunOptions> = {}): Promise<Run> {
  return joinRun({ controller: to.url, layout, initial: new Float32Array(LENGTH), ...options });
}

/** What the promise is rejected with; waited for from now on. */
function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'no error',
    (error: unknown) => error,
  );
}

/** Workers 0 and 1. */
async function joinTwo(to: RunningController, options: Partial<JoinRunOptions> = {}): Promise<[Run, Run]> {
  const [a, b] = await Promise.all([join(to, { ...options, worker: 0 }), join(to, { ...options, worker: 1 })]);
  return [a, b];
}

describe('two workers in one process', () => {
  it('begin with one model, average after each step, and finish with the same', async () => {
    const to = await start({}, { config: { learningRate: 0.5 } });
    const [a, b] = await Promise.all([
      join(to, { initial: new Float32Array(LENGTH).fill(7) }),
      join(to, { initial: new Float32Array(LENGTH).fill(7), worker: 5 }),
    ]);
    expect([a.worker, b.worker].toSorted((x, y) => x - y)).toEqual([0, 5]);
    expect(a.config).toEqual({ learningRate: 0.5 });
    for (let step = 1; step <= 3; step += 1) {
      const before = a.parameters[0] as number;
      expect(b.parameters).toEqual(a.parameters);
      a.parameters.fill(before + 1);
      b.parameters.fill(before + 3);
      const outcomes = await Promise.all([a.reduce({ samples: 2, loss: 0.1 }), b.reduce({ samples: 2 })]);
      expect(outcomes).toMatchObject([
        { type: 'averaged', k: step },
        { type: 'averaged', k: step },
      ]);
      expect([...a.parameters]).toEqual(Array.from({ length: LENGTH }, () => before + 2));
      expect([a.k, b.k]).toEqual([step, step]);
      expect(a.progress).toEqual({ samples: 4 * step, localSteps: 2 * step });
    }
    a.parameters.fill(1);
    b.parameters.fill(2);
    const models = await Promise.all([a.finish(), b.finish()]);
    expect(models.map((model) => [...model])).toEqual([Array(LENGTH).fill(1.5), Array(LENGTH).fill(1.5)]);
    await to.ended;
  });

  it("hand the first one's model to the other", async () => {
    const to = await start();
    const first = join(to, { initial: new Float32Array(LENGTH).fill(1), worker: 0 });
    await expect.poll(() => to.view().workers.length, { timeout: 30_000 }).toBe(1);
    const second = join(to, { initial: new Float32Array(LENGTH).fill(2), worker: 1 });
    expect([...(await second).parameters]).toEqual(Array(LENGTH).fill(1));
    expect([...(await first).parameters]).toEqual(Array(LENGTH).fill(1));
  });

  it('of two runs do not meet', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const [a, b] = await joinTwo(one);
    const [c, d] = await joinTwo(two);
    a.parameters.fill(1);
    b.parameters.fill(3);
    c.parameters.fill(10);
    d.parameters.fill(30);
    await Promise.all([a, b, c, d].map((run) => run.reduce({ samples: 1 })));
    expect([a, b, c, d].map((run) => run.parameters[0])).toEqual([2, 2, 20, 20]);
    await Promise.all([a, b, c, d].map((run) => run.finish()));
  });

  it('average auxiliary vectors, too', async () => {
    const to = await start();
    const [mine, other] = [new Float32Array(3), new Float32Array(3)];
    const [a, b] = await Promise.all([join(to, { auxiliary: mine }), join(to, { auxiliary: other })]);
    a.parameters.fill(2);
    b.parameters.fill(4);
    mine.set([1, 2, 3]);
    other.set([3, 6, 9]);
    await Promise.all([a.reduce({ samples: 1 }), b.reduce({ samples: 1 })]);
    expect([...mine]).toEqual([2, 4, 6]);
    expect([...other]).toEqual([2, 4, 6]);
    expect([...a.parameters]).toEqual(Array(LENGTH).fill(3));
    // The model is the parameters alone.
    const models = await Promise.all([a.finish(), b.finish()]);
    expect(models.map((model) => model.length)).toEqual([LENGTH, LENGTH]);
  });
});

describe('leave()', () => {
  it('lets one go, and the other goes on alone', async () => {
    const events: RunEvent[] = [];
    const to = await start({}, { onEvent: (event) => void events.push(event) });
    const [a, b] = await joinTwo(to);
    await a.leave();
    expect(events).toContainEqual(expect.objectContaining({ type: 'workerLeft', worker: 0 }));
    await expect(a.reduce({ samples: 1 })).rejects.toMatchObject({ code: 'run-ended' });
    b.parameters.fill(4);
    expect(await b.reduce({ samples: 1 })).toMatchObject({ type: 'alone', k: 1 });
    expect([...(await b.finish())]).toEqual(Array(LENGTH).fill(4));
    await to.ended;
  });
});

describe('done', () => {
  it('tells both when the steps are taken', async () => {
    const to = await start({ maxLocalSteps: 4 });
    const runs = await joinTwo(to);
    const steps = await Promise.all(
      runs.map(async (run) => {
        let count = 0;
        while (!run.done) {
          await run.reduce({ samples: 1 });
          count += 1;
        }
        await run.finish();
        return count;
      }),
    );
    expect(steps.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(4);
    expect(runs.map((run) => run.done)).toEqual([true, true]);
    await to.ended;
  });
});

describe('lease()', () => {
  it('hands out every sample of every epoch once', async () => {
    const to = await start({ ledger: { sampleCount: 10, batchSamples: 2, leaseBatches: 2, epochs: 2 } });
    const runs = await joinTwo(to);
    const seen: number[] = [];
    await Promise.all(
      runs.map(async (run) => {
        for (let lease = await run.lease(); lease !== null; lease = await run.lease()) {
          for (let i = 0; i < lease.count; i += 1) seen.push(100 * lease.epoch + lease.start + i);
          await run.reduce({ samples: lease.count });
        }
        await run.finish();
      }),
    );
    const epoch = [...Array(10).keys()];
    expect(seen.toSorted((x, y) => x - y)).toEqual([...epoch, ...epoch.map((position) => 100 + position)]);
    await to.ended;
  });

  it('in a run without a ledger ends the worker with the reason', async () => {
    const to = await start();
    const [a] = await joinTwo(to);
    await expect(a.lease()).rejects.toMatchObject({
      code: 'run-ended',
      message: expect.stringMatching(/protocol violation: asked for a lease, but this run has no data/),
    });
  });
});

describe('log()', () => {
  it('is recorded, also what is not finite', async () => {
    const events: RunEvent[] = [];
    const to = await start({}, { onEvent: (event) => void events.push(event) });
    const [a] = await joinTwo(to);
    a.log({ accuracy: 0.5, norm: Number.NaN });
    await expect
      .poll(() => events.find((event) => event.type === 'logged'))
      .toMatchObject({ worker: 0, values: { accuracy: 0.5, norm: Number.NaN } });
  });

  it('refuses a name too long before it is sent, and the run goes on', async () => {
    const to = await start();
    const [a, b] = await joinTwo(to);
    expect(() => a.log({ ['n'.repeat(257)]: 1 })).toThrow(expect.objectContaining({ code: 'bad-option' }));
    await Promise.all([a.reduce({ samples: 1 }), b.reduce({ samples: 1 })]);
  });

  it('of more than a message may hold ends in one clear error', async () => {
    const to = await start();
    const [a] = await joinTwo(to);
    a.log(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`${i}`.padEnd(256, 'n'), i])));
    const sent = {
      code: 'bad-message',
      message: expect.stringMatching(/expected to send "log" in .* at most 4194304/),
    };
    await expect(a.reduce({ samples: 1 })).rejects.toMatchObject(sent);
    await expect(a.reduce({ samples: 1 })).rejects.toMatchObject(sent);
  });
});

describe('reduce()', () => {
  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'refuses %d samples, and the run goes on',
    async (samples) => {
      const to = await start();
      const [a, b] = await joinTwo(to);
      await expect(a.reduce({ samples })).rejects.toMatchObject({
        code: 'bad-option',
        message: `samples: expected the whole number of samples of this step, got ${samples}`,
      });
      expect(await Promise.all([a.reduce({ samples: 1 }), b.reduce({ samples: 1 })])).toMatchObject([
        { k: 1 },
        { k: 1 },
      ]);
    },
  );
});

describe('a controller that is closed', () => {
  const told = {
    code: 'run-ended',
    message: expect.stringMatching(/the controller was stopped before the run was over$/),
  };

  it('while a worker waits for its group fails the call with run-ended', async () => {
    const to = await start();
    const [a, b] = await joinTwo(to);
    const waiting = errorOf(a.reduce({ samples: 1 }));
    await expect.poll(() => to.view().queue).toEqual([0]);
    await to.close();
    expect(await waiting).toMatchObject(told);
    // So does every later call, of the other worker too.
    await expect.poll(() => b.done).toBe(true);
    await expect(b.reduce({ samples: 1 })).rejects.toMatchObject(told);
    await expect(a.finish()).rejects.toMatchObject(told);
    await a.leave();
  });

  it('before the run starts fails the join', async () => {
    const to = await start();
    const joining = errorOf(join(to));
    await expect.poll(() => to.view().workers.length, { timeout: 30_000 }).toBe(1);
    await to.close();
    expect(await joining).toMatchObject(told);
  });
});

describe('joinRun', () => {
  it('says so where no controller answers', async () => {
    const to = await start();
    await to.close();
    await expect(join(to, { connectTimeoutMs: 100 })).rejects.toMatchObject({
      name: 'PreduceError',
      code: 'controller-unreachable',
      retryable: true,
      message: expect.stringMatching(/^expected a Preduce controller at ws:\/\/127\.0\.0\.1:\d+, got ".*ECONNREFUSED/),
    });
  });

  it.each([
    ['no token', {}, 'got none'],
    ['a wrong token', { token: 'another' }, 'got another one'],
  ])('with %s is refused', async (_name, options, says) => {
    const to = await start({}, { token: 'secret' });
    await expect(join(to, options)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining(says),
    });
  });

  it('with the token is let in', async () => {
    const to = await start({ minWorkers: 1 }, { token: 'secret' });
    const run = await join(to, { token: 'secret' });
    await run.finish();
  });

  it("with another model than the run's is refused, naming both", async () => {
    const to = await start({ minWorkers: 1 });
    await join(to);
    const other = { layout: [{ name: 'w', shape: [8] }], initial: new Float32Array(8) };
    await expect(join(to, other)).rejects.toMatchObject({
      code: 'bad-layout',
      message: expect.stringMatching(/tensor 0 is "w" \[8\] where the run has "w" \[2, 3\]/),
    });
  });

  it.each<[string, object, string, RegExp]>([
    [
      'fewer values than the layout',
      { initial: new Float32Array(7) },
      'bad-layout',
      /expected 8 initial values.* got 7/,
    ],
    [
      'more values than the layout',
      { initial: new Float32Array(9) },
      'bad-layout',
      /expected 8 initial values.* got 9/,
    ],
    ['an empty layout', { layout: [], initial: new Float32Array(0) }, 'bad-layout', /a layout of at least one tensor/],
    ['no layout', { layout: undefined }, 'bad-layout', /a layout of at least one tensor/],
    [
      'tensors of no value',
      { layout: [{ name: 'w', shape: [0] }], initial: new Float32Array(0) },
      'bad-layout',
      /1 to 2147483647 values, got 0/,
    ],
    ['a shape that is not whole', { layout: [{ name: 'w', shape: [1.5] }] }, 'bad-layout', /values, got 1\.5/],
    ['a shape too big', { layout: [{ name: 'w', shape: [65_536, 32_768] }] }, 'bad-layout', /values, got 2147483648/],
    ['an ordinary array', { initial: Array(8).fill(0) }, 'bad-option', /^initial: expected a Float32Array, got Array$/],
    ['a Float64Array', { initial: new Float64Array(8) }, 'bad-option', /^initial: .* got Float64Array$/],
    ['no initial values', { initial: undefined }, 'bad-option', /^initial: .* got undefined$/],
    ['a number', { initial: 8 }, 'bad-option', /^initial: .* got a number$/],
    ['an auxiliary vector of another type', { auxiliary: [1] }, 'bad-option', /^auxiliary: .* got Array$/],
    ['an empty address', { controller: '' }, 'bad-option', /expected the controller's address, got none/],
  ])('refuses %s before it connects', async (_name, options, code, message) => {
    const nobody = {
      controller: 'ws://127.0.0.1:9',
      connectTimeoutMs: 60_000,
      layout,
      initial: new Float32Array(LENGTH),
    };
    await expect(joinRun({ ...nobody, ...options })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
