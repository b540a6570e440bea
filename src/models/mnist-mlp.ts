/**
 * Multilayer perceptron for 28 x 28 grey images of ten classes: 784-512-256-10, 535,818 parameters.
 */
import { createGraph, type Graph } from '../engine/graph.js';
import { lecunUniform } from '../engine/initializers.js';
import { flatten } from '../engine/ops/flatten.js';
import { linear } from '../engine/ops/linear.js';
import { relu } from '../engine/ops/relu.js';
import { softmaxCrossEntropy } from '../engine/ops/softmax-cross-entropy.js';

/** Input [batch, 1, 28, 28], values around 0. */
export function mnistMlp(): Graph {
  const graph = createGraph({ inputShape: [1, 28, 28], classCount: 10 });
  let x = flatten(graph, graph.input);
  x = relu(graph, linear(graph, x, { name: 'hidden1', outputs: 512 }));
  x = relu(graph, linear(graph, x, { name: 'hidden2', outputs: 256 }));
  const scores = linear(graph, x, { name: 'scores', outputs: graph.classCount, initializer: lecunUniform });
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}
