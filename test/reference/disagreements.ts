/**
 * Checks an operation of the engine three ways: its output and its gradients, computed by ONNX Runtime from the graph
 * that autodiff makes, against the float64 reference; and the reference's gradients against central differences.
 */
import { createRandom, type Random } from '../../src/base/random.js';
import { buildTrainingGraph, gradientOutput, LOSS_OUTPUT } from '../../src/engine/autodiff.js';
import { createGraph, type Graph, updateName, type Value } from '../../src/engine/graph.js';
import { constant } from '../../src/engine/initializers.js';
import { createSession, loadRuntime, type TensorView } from '../../src/engine/session.js';
import { elementCount } from '../../src/engine/shape.js';
import { centralDifferences, dot, everyPlace, type ReferenceOperation, relativeError } from './operation.js';

export interface OperationCase {
  /** Shape of the operation's first input, batch included. */
  readonly xShape: readonly number[];
  /** Appends the operation. Its inputs are `x` and the parameters that it adds, in that order. */
  readonly build: (graph: Graph, x: Value) => Value;
  readonly reference: ReferenceOperation;
  readonly seed?: number;
  /** Draws an element of the inputs; default: standard normal. */
  readonly draw?: (random: Random) => number;
  /** For operations that read the labels. */
  readonly labels?: Int32Array;
  readonly classCount?: number;
  /** The mask's elements, for an operation that reads one. */
  readonly mask?: readonly number[];
}

const COEFFICIENTS = 'coefficients';
const FLOAT32_TOLERANCE = 2e-5;
const DIFFERENCE_TOLERANCE = 1e-6;
/** Elements per input whose central difference is taken, each at the cost of two runs of the reference. */
const DIFFERENCES_MAX = 30;

/** loss = sum(y * coefficients): its gradient with respect to y is the coefficients, and to the coefficients y. */
function appendDotProduct(graph: Graph, y: Value): void {
  const coefficients = graph.addParameter(COEFFICIENTS, y.shape as number[], constant(0));
  const loss = graph.operation('dot', [y, coefficients], [], (output) => ({
    forward(builder) {
      const product = builder.node('Mul', [y.name, coefficients.name]);
      builder.node('ReduceSum', [product], { keepdims: { int: 0 } }, output.name);
    },
    backward(builder, gradient) {
      return [builder.node('Mul', [coefficients.name, gradient]), builder.node('Mul', [y.name, gradient])];
    },
  }));
  graph.setOutcome(y, loss);
}

interface OperationRun {
  /** Values fed for the operation's inputs, and the coefficients of its output. */
  readonly inputs: readonly Float64Array[];
  readonly coefficients: Float64Array;
  readonly output: Float32Array;
  readonly gradients: readonly Float32Array[];
}

async function runOperation(operation: OperationCase): Promise<OperationRun> {
  const { xShape, build, seed = 1, draw, labels = new Int32Array(1), classCount = 1, mask } = operation;
  const random = createRandom(seed);
  const graph = createGraph({ inputShape: [1], classCount });
  appendDotProduct(graph, build(graph, graph.addParameter('x', xShape, constant(0))));
  const feeds: Record<string, TensorView> = {
    input: { data: new Float32Array(labels.length), shape: [labels.length, 1] },
    labels: { data: labels, shape: [labels.length] },
  };
  const fetches: Record<string, TensorView> = { [LOSS_OUTPUT]: { data: new Float32Array(1), shape: [] } };
  for (const auxiliary of graph.auxiliary) {
    const { name, shape } = auxiliary;
    feeds[name] = { data: new Float32Array(elementCount(shape)), shape };
    fetches[updateName(auxiliary)] = { data: new Float32Array(elementCount(shape)), shape };
  }
  for (const { name, shape } of graph.masks) {
    feeds[name] = { data: Float32Array.from(mask ?? []), shape: shape as number[] };
  }
  for (const { name, shape } of graph.parameters) {
    const elements = { length: elementCount(shape) };
    feeds[name] = { data: Float32Array.from(elements, () => draw?.(random) ?? random.normal()), shape };
    fetches[gradientOutput(name)] = { data: new Float32Array(elements.length), shape };
  }
  const session = await createSession(buildTrainingGraph(graph), {}, await loadRuntime());
  await session.run(feeds, fetches);
  await session.release();

  const data = (view: TensorView | undefined) => view?.data as Float32Array;
  const names = graph.parameters.map(({ name }) => name).filter((name) => name !== COEFFICIENTS);
  return {
    inputs: names.map((name) => Float64Array.from(data(feeds[name]))),
    coefficients: Float64Array.from(data(feeds[COEFFICIENTS])),
    output: data(fetches[gradientOutput(COEFFICIENTS)]),
    gradients: names.map((name) => data(fetches[gradientOutput(name)])),
  };
}

/** What engine, reference and central differences disagree on, with the size of the error; empty when all is well. */
export async function disagreements(operation: OperationCase): Promise<string[]> {
  const { inputs, coefficients, output, gradients } = await runOperation(operation);
  const { reference } = operation;
  const expected = reference.backward(inputs, coefficients);
  const loss = () => dot(reference.forward(inputs), coefficients);
  const found: string[] = [];

  function compare(what: string, actual: ArrayLike<number>, wanted: ArrayLike<number>, tolerance: number): void {
    const error = relativeError(actual, wanted);
    if (error > tolerance) found.push(`${what}: relative error ${error}`);
  }

  compare('output', output, reference.forward(inputs), FLOAT32_TOLERANCE);
  inputs.forEach((input, i) => {
    const analytic = expected[i] ?? new Float64Array();
    const places = everyPlace(input, DIFFERENCES_MAX);
    const sampled = places.map((place) => analytic[place] as number);
    compare(`reference gradient of input ${i}`, sampled, centralDifferences(input, loss, places), DIFFERENCE_TOLERANCE);
    compare(`gradient of input ${i}`, gradients[i] ?? [], analytic, FLOAT32_TOLERANCE);
  });
  return found;
}
