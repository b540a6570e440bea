/**
 * Fully connected layer: y = x W^T + b. The weight's shape [outputs, inputs] is PyTorch's, so that a saved model
 * moves between the two as it is.
 */
import { assert } from '../../base/assert.js';
import type { Graph, Value } from '../graph.js';
import { constant, heUniform, type Initializer } from '../initializers.js';
import { formatShape } from '../shape.js';

export interface LinearOptions {
  /** Prefix of the parameters' names: `name.weight`, `name.bias`. */
  readonly name: string;
  readonly outputs: number;
  /** Default true. */
  readonly bias?: boolean;
  /** Fills the weight, given the inputs per output; default He's rule. The bias starts at zero. */
  readonly initializer?: (fanIn: number) => Initializer;
}

/** `x`: [batch, inputs]. Returns [batch, outputs]. */
export function linear(graph: Graph, x: Value, options: LinearOptions): Value {
  const { name, outputs, bias: hasBias = true, initializer = heUniform } = options;
  const [batch, inputs] = x.shape;
  assert(
    x.shape.length === 2 && batch !== undefined && typeof inputs === 'number',
    `${name} takes [batch, inputs], not ${formatShape(x.shape)} (flatten it first)`,
  );
  const weight = graph.addParameter(`${name}.weight`, [outputs, inputs], initializer(inputs));
  const bias = hasBias ? graph.addParameter(`${name}.bias`, [outputs], constant(0)) : null;
  const operands = bias === null ? [x, weight] : [x, weight, bias];

  return graph.operation('linear', operands, [batch, outputs], (y) => ({
    forward(builder) {
      builder.node(
        'Gemm',
        operands.map((value) => value.name),
        { transB: { int: 1 } },
        y.name,
      );
    },
    backward(builder, gradient) {
      const forX = x.needsGradient ? builder.node('Gemm', [gradient, weight.name]) : null;
      const forWeight = builder.node('Gemm', [gradient, x.name], { transA: { int: 1 } });
      if (bias === null) return [forX, forWeight];
      const overBatch = builder.constant('int64', [0]);
      return [forX, forWeight, builder.node('ReduceSum', [gradient, overBatch], { keepdims: { int: 0 } })];
    },
  }));
}
