/**
 * Softmax and cross-entropy as one operation, mean over the batch: the loss of a classifier. Its gradient is
 * (softmax - one-hot label) / batch size, which needs no division by small probabilities.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { formatShape } from '../shape.js';

/** `scores`: [batch, classCount], before the softmax. Returns the mean loss against the graph's labels, []. */
export function softmaxCrossEntropy(graph: Graph, scores: Value): Value {
  const { labels, classCount } = graph;
  assert(
    scores.shape.length === 2 && scores.shape[1] === classCount,
    `the loss takes scores of shape [batch, ${classCount}], not ${formatShape(scores.shape)}`,
  );
  return graph.operation('cross-entropy', [scores, labels], [], (output) => {
    const logProbabilities = `${output.name}/log-probabilities`;
    const target = `${output.name}/target`;
    return {
      forward(builder) {
        const depth = builder.constant('int32', [classCount], []);
        builder.node('LogSoftmax', [scores.name], { axis: { int: 1 } }, logProbabilities);
        builder.node('OneHot', [labels.name, depth, builder.constant('float32', [0, 1])], {}, target);
        const picked = builder.node('Mul', [logProbabilities, target]);
        const classes = builder.constant('int64', [1]);
        const perSample = builder.node('ReduceSum', [picked, classes], { keepdims: { int: 0 } });
        const mean = builder.node('ReduceMean', [perSample], { keepdims: { int: 0 } });
        builder.node('Neg', [mean], {}, output.name);
      },
      backward(builder, gradient) {
        const difference = builder.node('Sub', [builder.node('Exp', [logProbabilities]), target]);
        const count = builder.node('Cast', [builder.node('Size', [labels.name])], { to: { type: 'float32' } });
        return [builder.node('Mul', [difference, builder.node('Div', [gradient, count])]), null];
      },
    };
  });
}
