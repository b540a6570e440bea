/**
 * Batch normalisation (Ioffe and Szegedy, ICML 2015), per channel. Training normalises by the batch's own mean and
 * variance and keeps running averages of them, which evaluation uses. The averages are auxiliary tensors: partial
 * reduce averages them along with the parameters. The rules are PyTorch's: momentum is the weight of the new value,
 * and the running variance takes the unbiased estimate.
 */
import { assert } from '../../base/assert.js';
import { type Auxiliary, type Graph, updateName, type Value } from '../graph.js';
import { constant } from '../initializers.js';
import type { OnnxBuilder } from '../onnx-graph.js';
import { formatShape } from '../shape.js';

export interface BatchNormOptions {
  /** Prefix of the names: `name.weight`, `name.bias`, `name.running_mean`, `name.running_var`. */
  readonly name: string;
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
  /** Weight of a batch in the running averages. Default 0.1. */
  readonly momentum?: number;
}

/** `x`: [batch, channels, ...]. Returns the same shape. */
export function batchNorm(graph: Graph, x: Value, options: BatchNormOptions): Value {
  const { name, epsilon = 1e-5, momentum = 0.1 } = options;
  const channels = x.shape[1];
  assert(typeof channels === 'number', `${name} takes [batch, channels, ...], not ${formatShape(x.shape)}`);
  const scale = graph.addParameter(`${name}.weight`, [channels], constant(1));
  const shift = graph.addParameter(`${name}.bias`, [channels], constant(0));
  const runningMean = graph.addAuxiliary(`${name}.running_mean`, [channels], constant(0));
  const runningVariance = graph.addAuxiliary(`${name}.running_var`, [channels], constant(1));

  return graph.operation('batch-norm', [x, scale, shift], x.shape, (y) => {
    const mean = `${y.name}/mean`;
    const variance = `${y.name}/variance`;
    const affine = [x.name, scale.name, shift.name];
    return {
      updates: [runningMean, runningVariance],
      forward(builder, mode) {
        const attributes = { epsilon: { float: epsilon } };
        if (mode === 'evaluation') {
          builder.node('BatchNormalization', [...affine, runningMean.name, runningVariance.name], attributes, y.name);
          return;
        }
        // With a weight of 0 for the old values, the operator's running averages are the batch's own statistics.
        const operands = [...affine, scratchLike(builder, runningMean), scratchLike(builder, runningVariance)];
        const ownOnly = { ...attributes, momentum: { float: 0 }, training_mode: { int: 1 } };
        builder.nodeWithOutputs('BatchNormalization', operands, [y.name, mean, variance], ownOnly);
        const count = countPerChannel(builder, x, channels);
        const least = builder.constant('float32', [1], []);
        const freedom = builder.node('Max', [builder.node('Sub', [count, least]), least]);
        const unbiased = builder.node('Mul', [variance, builder.node('Div', [count, freedom])]);
        appendRunningAverage(builder, runningMean, mean, momentum);
        appendRunningAverage(builder, runningVariance, unbiased, momentum);
      },
      backward: (builder, gradient) =>
        appendBackward(builder, { x, scale, mean, variance, epsilon, channels, gradient }),
    };
  });
}

/**
 * A tensor of this shape that the operator may overwrite. ONNX Runtime's kernel writes its running averages over the
 * old ones, even over a graph's input, which is the caller's memory and is read again below; and a constant would be
 * shared between layers of one width.
 */
function scratchLike(builder: OnnxBuilder, { name }: Auxiliary): string {
  return builder.node('Mul', [name, builder.constant('float32', [0], [])]);
}

/** Elements per channel in this batch, as a float32 scalar. */
function countPerChannel(builder: OnnxBuilder, x: Value, channels: number): string {
  const size = builder.node('Cast', [builder.node('Size', [x.name])], { to: { type: 'float32' } });
  return builder.node('Div', [size, builder.constant('float32', [channels], [])]);
}

function appendRunningAverage(builder: OnnxBuilder, average: Auxiliary, newest: string, momentum: number): void {
  const old = builder.node('Mul', [average.name, builder.constant('float32', [1 - momentum], [])]);
  const share = builder.node('Mul', [newest, builder.constant('float32', [momentum], [])]);
  builder.node('Add', [old, share], {}, updateName(average));
}

interface BatchNormGradient {
  readonly x: Value;
  readonly scale: Value;
  readonly mean: string;
  readonly variance: string;
  readonly epsilon: number;
  readonly channels: number;
  readonly gradient: string;
}

/**
 * With normalised inputs h, count m per channel and r = 1 / sqrt(variance + epsilon): the scale's gradient is sum(g h),
 * the shift's is sum(g), and the input's is scale r (g - sum(g) / m - h sum(g h) / m). The operator itself, given
 * the batch's statistics, computes the last two terms in one pass over x; passes over memory are what costs here.
 */
function appendBackward(builder: OnnxBuilder, operands: BatchNormGradient): (string | null)[] {
  const { x, scale, mean, variance, epsilon, channels, gradient } = operands;
  const trailing = x.shape.slice(2).map((_, i) => i + 1);
  const others = builder.constant('int64', [0, ...trailing.map((axis) => axis + 1)]);
  const sum = (tensor: string) => builder.node('ReduceSum', [tensor, others], { keepdims: { int: 0 } });
  const multiply = (a: string, b: string) => builder.node('Mul', [a, b]);

  const spread = builder.node('Sqrt', [builder.node('Add', [variance, builder.constant('float32', [epsilon], [])])]);
  const forShift = sum(gradient);
  const centred = builder.node('Sub', [sum(multiply(gradient, x.name)), multiply(mean, forShift)]);
  const forScale = builder.node('Div', [centred, spread]);
  if (!x.needsGradient) return [null, forScale, forShift];

  const factor = builder.node('Div', [scale.name, spread]);
  const perElement = builder.node('Neg', [builder.node('Div', [factor, countPerChannel(builder, x, channels)])]);
  const statistics = [multiply(perElement, forScale), multiply(perElement, forShift), mean, variance];
  const correction = builder.node('BatchNormalization', [x.name, ...statistics], { epsilon: { float: epsilon } });
  const perChannel =
    trailing.length === 0 ? factor : builder.node('Unsqueeze', [factor, builder.constant('int64', trailing)]);
  return [builder.node('Add', [multiply(gradient, perChannel), correction]), forScale, forShift];
}
