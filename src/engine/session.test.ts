import { afterEach, describe, expect, it, vi } from 'vitest';
import { createOnnxBuilder, type OnnxGraph } from './onnx-graph.js';
import { createSession, loadRuntime } from './session.js';

afterEach(() => {
  vi.doUnmock('onnxruntime-node');
  vi.resetModules();
});

function negation(): OnnxGraph {
  const builder = createOnnxBuilder();
  builder.node('Neg', ['x'], {}, 'y');
  const shape = ['batch'];
  return builder.finish([{ name: 'x', type: 'float32', shape }], [{ name: 'y', type: 'float32', shape }]);
}

describe('createSession', () => {
  it('reads and writes views in the middle of a vector, and nothing beside them', async () => {
    const session = await createSession(negation(), {}, await loadRuntime());
    const memory = Float32Array.of(1, 2, 3, 4, 5, 6);
    const x = { data: memory.subarray(1, 3), shape: [2] };
    const y = { data: memory.subarray(3, 5), shape: [2] };
    await session.run({ x }, { y });
    expect([...memory]).toEqual([1, 2, 3, -2, -3, 6]);
    memory[1] = 9;
    await session.run({ x }, { y });
    expect([...memory]).toEqual([1, 9, 3, -9, -3, 6]);
    await session.release();
  });

  it.each([
    { what: 'an input of another type', inputs: { x: { data: Int32Array.of(1, 2), shape: [2] } } },
    { what: 'a missing input', inputs: {} },
    { what: 'shared memory', inputs: { x: { data: new Float32Array(new SharedArrayBuffer(8)), shape: [2] } } },
  ])('fails with engine-failed for $what', async ({ inputs }) => {
    const session = await createSession(negation(), {}, await loadRuntime());
    const y = { data: new Float32Array(2), shape: [2] };
    await expect(session.run(inputs, { y })).rejects.toMatchObject({ name: 'PreduceError', code: 'engine-failed' });
    await session.release();
  });

  it('fails with engine-failed for a graph that makes no sense', async () => {
    const builder = createOnnxBuilder();
    builder.node('NoSuchOperator', ['x'], {}, 'y');
    const graph = builder.finish([{ name: 'x', type: 'float32', shape: [1] }], []);
    await expect(createSession(graph, {}, await loadRuntime())).rejects.toMatchObject({ code: 'engine-failed' });
  });
});

describe('loadRuntime', () => {
  it('says how to install the engine where it is missing', async () => {
    vi.doMock('onnxruntime-node', () => {
      throw new Error('Cannot find package');
    });
    const { loadRuntime: load } = await import('./session.js');
    await expect(load()).rejects.toMatchObject({
      name: 'PreduceError',
      code: 'engine-missing',
      message: expect.stringContaining('ONNXRUNTIME_NODE_INSTALL=skip npm install onnxruntime-node'),
    });
  });
});
