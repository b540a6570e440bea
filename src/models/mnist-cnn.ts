/**
 * Small convolutional network for 28 x 28 grey images of ten classes, of the common form: two rounds of convolution,
 * ReLU and pooling (32 and 64 channels), a hidden layer of 128; 421,642 parameters. A gradient costs about twenty times
 * that of mnist-mlp. Starts as PyTorch's layers do: with He's larger weights it stops learning at usual rates
 * (SGD with momentum 0.9 and learning rate 0.05).
 */
import { createGraph, type Graph, type Value } from '../engine/graph.js';
import { pytorchUniform } from '../engine/initializers.js';
import { conv } from '../engine/ops/conv.js';
import { flatten } from '../engine/ops/flatten.js';
import { linear } from '../engine/ops/linear.js';
import { maxPool } from '../engine/ops/max-pool.js';
import { relu } from '../engine/ops/relu.js';
import { softmaxCrossEntropy } from '../engine/ops/softmax-cross-entropy.js';

/** Input [batch, 1, 28, 28], values around 0. */
export function mnistCnn(): Graph {
  const graph = createGraph({ inputShape: [1, 28, 28], classCount: 10 });
  const initializer = pytorchUniform;
  let x = convolve(graph, graph.input, 'conv1', 32);
  x = convolve(graph, x, 'conv2', 64);
  x = relu(graph, linear(graph, flatten(graph, x), { name: 'hidden', outputs: 128, initializer }));
  const scores = linear(graph, x, { name: 'scores', outputs: graph.classCount, initializer });
  graph.setOutcome(scores, softmaxCrossEntropy(graph, scores));
  return graph;
}

/** [batch, channels, height, width] to [batch, outputs, height / 2, width / 2]. */
function convolve(graph: Graph, x: Value, name: string, outputs: number): Value {
  const features = conv(graph, x, { name, outputs, kernel: 3, padding: 1, initializer: pytorchUniform });
  return maxPool(graph, relu(graph, features), { kernel: 2 });
}
