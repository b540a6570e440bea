import { describe, expect, it } from 'vitest';
import { disagreements } from '../../../test/reference/disagreements.js';
import { buildEvaluationGraph } from '../autodiff.js';
import { createGraph } from '../graph.js';
import { dropout } from './dropout.js';
import { linear } from './linear.js';
import { softmaxCrossEntropy } from './softmax-cross-entropy.js';

describe('dropout', () => {
  it('multiplies by the mask, forwards and backwards', async () => {
    const mask = [2, 0, 0, 2, 2, 0];
    const times = (values: Float64Array | undefined) =>
      Float64Array.from(mask, (kept, i) => kept * (values?.[i] as number));
    const found = await disagreements({
      xShape: [2, 3],
      build: (graph, x) => dropout(graph, x, 0.5),
      reference: { forward: ([x]) => times(x), backward: (_inputs, gradient) => [times(gradient)] },
      mask,
    });
    expect(found).toEqual([]);
  });

  it('needs no mask in evaluation', () => {
    const graph = createGraph({ inputShape: [3], classCount: 2 });
    const scores = linear(graph, dropout(graph, graph.input, 0.5), { name: 'scores', outputs: 2 });
    graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
    expect(graph.masks.map(({ shape, keptShare }) => ({ shape, keptShare }))).toEqual([
      { shape: ['batch', 3], keptShare: 0.5 },
    ]);
    const { inputs } = buildEvaluationGraph(graph);
    expect(inputs.map(({ name }) => name)).toEqual(['input', 'labels', 'scores.weight', 'scores.bias']);
  });

  it.each([1, -0.1, Number.NaN])('refuses a share of %d', (share) => {
    const graph = createGraph({ inputShape: [3], classCount: 2 });
    expect(() => dropout(graph, graph.input, share)).toThrow('drops a share in [0, 1)');
  });
});
