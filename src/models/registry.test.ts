import { describe, expect, it } from 'vitest';
import { createModel } from '../engine/onnx-model.js';
import { elementCount } from '../engine/shape.js';
import { models } from './registry.js';

const PARAMETERS: Record<keyof typeof models, number> = { 'mnist-cnn': 421_642, 'mnist-mlp': 535_818 };

describe('models', () => {
  it.each(Object.entries(models))('%s builds what its entry says, and starts at an even guess', async (name, entry) => {
    const graph = entry.build();
    expect(graph.input.shape).toEqual(['batch', ...entry.inputShape]);
    expect(graph.outcome.scores.shape).toEqual(['batch', entry.classCount]);
    const model = await createModel(graph, { seed: 1 });
    expect(model.parameters.length).toBe(PARAMETERS[name as keyof typeof models]);

    const count = 16;
    const inputs = Float32Array.from({ length: count * elementCount(entry.inputShape) }, (_, i) => Math.sin(i));
    const labels = Int32Array.from({ length: count }, (_, i) => i % entry.classCount);
    const { loss, values } = await model.gradient({ inputs, labels, count });
    expect(Math.abs(loss - Math.log(entry.classCount))).toBeLessThan(1);
    expect(values.every(Number.isFinite)).toBe(true);
    await model.release();
  });
});
