import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { referenceSoftmaxCrossEntropy } from '../../../test/reference/softmax-cross-entropy.js';
import { createGraph } from '../graph.js';
import { softmaxCrossEntropy } from './softmax-cross-entropy.js';

describe('softmaxCrossEntropy', () => {
  it.each([
    { labels: [0], classCount: 2, size: 1 },
    { labels: [2, 0, 1, 1, 3], classCount: 4, size: 1 },
    { labels: [9, 9, 0], classCount: 10, size: 8 },
  ])('agrees with the reference for labels $labels of $classCount, scores of size $size', async (options) => {
    const labels = Int32Array.from(options.labels);
    const { classCount, size } = options;
    expect(
      await disagreements({
        xShape: [labels.length, classCount],
        build: softmaxCrossEntropy,
        reference: referenceSoftmaxCrossEntropy(labels, classCount),
        draw: (random) => size * random.normal(),
        labels,
        classCount,
      }),
    ).toEqual([]);
  });

  it.each([
    { inputShape: [5], message: 'scores of shape [batch, 4], not [batch, 5]' },
    { inputShape: [4, 1], message: 'scores of shape [batch, 4], not [batch, 4, 1]' },
  ])('refuses scores of shape $inputShape for 4 classes', ({ inputShape, message }) => {
    const graph = createGraph({ inputShape, classCount: 4 });
    expect(() => softmaxCrossEntropy(graph, graph.input)).toThrow(message);
  });
});
