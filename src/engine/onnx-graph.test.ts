import { describe, expect, it } from 'vitest';
import { createOnnxBuilder } from './onnx-graph.js';

describe('createOnnxBuilder', () => {
  it('names outputs apart and stores equal constants once', () => {
    const builder = createOnnxBuilder();
    const one = builder.constant('float32', [1], []);
    const first = builder.node('Add', [one, builder.constant('float32', [1], [])]);
    const second = builder.node('Add', [one, one]);
    const { nodes, constants } = builder.finish([], []);
    expect(first).not.toBe(second);
    expect(nodes.map(({ outputs }) => outputs)).toEqual([[first], [second]]);
    expect(constants.size).toBe(1);
  });

  it('tells constants apart by value, type and shape', () => {
    const builder = createOnnxBuilder();
    const names = [
      builder.constant('float32', [1, 2]),
      builder.constant('float32', [1, 3]),
      builder.constant('int64', [1, 2]),
      builder.constant('float32', [1, 2], [1, 2]),
    ];
    expect(new Set(names).size).toBe(4);
  });

  it('refuses a second node with the same output', () => {
    const builder = createOnnxBuilder();
    builder.node('Relu', ['x'], {}, 'y');
    expect(() => builder.node('Neg', ['x'], {}, 'y')).toThrow('defines y once');
    expect(() => builder.nodeWithOutputs('Split', ['x'], ['a', '', '', 'y'])).toThrow('defines y once');
  });
});
