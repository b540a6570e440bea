/**
 * Encodes an ONNX graph as the bytes of a model file (protobuf `ModelProto`), which any ONNX runtime or viewer reads.
 */
// The package is CommonJS whose exports Node cannot see by name, so it comes as the default.
import onnxProto from 'onnx-proto';
import { ONNX_OPSET, type OnnxAttribute, type OnnxGraph, type OnnxPort, type OnnxTensor } from './onnx-graph.js';

const { onnx } = onnxProto;

/** Version of the file format: the one that came with operator set 18. */
const IR_VERSION = 8;

const DATA_TYPES = {
  float32: onnx.TensorProto.DataType.FLOAT,
  int32: onnx.TensorProto.DataType.INT32,
  int64: onnx.TensorProto.DataType.INT64,
  bool: onnx.TensorProto.DataType.BOOL,
} as const;

function attributeProto(name: string, attribute: OnnxAttribute) {
  const { AttributeType } = onnx.AttributeProto;
  if ('int' in attribute) return { name, type: AttributeType.INT, i: attribute.int };
  if ('ints' in attribute) return { name, type: AttributeType.INTS, ints: [...attribute.ints] };
  if ('float' in attribute) return { name, type: AttributeType.FLOAT, f: attribute.float };
  if ('type' in attribute) return { name, type: AttributeType.INT, i: DATA_TYPES[attribute.type] };
  return { name, type: AttributeType.STRING, s: new TextEncoder().encode(attribute.string) };
}

function tensorProto(name: string, { type, shape, values }: OnnxTensor) {
  const common = { name, dataType: DATA_TYPES[type], dims: [...shape] };
  if (type === 'float32') return { ...common, floatData: [...values] };
  if (type === 'int64') return { ...common, int64Data: [...values] };
  return { ...common, int32Data: [...values] };
}

function portProto({ name, type, shape }: OnnxPort) {
  const dim = shape.map((size) => (typeof size === 'string' ? { dimParam: size } : { dimValue: size }));
  return { name, type: { tensorType: { elemType: DATA_TYPES[type], shape: { dim } } } };
}

/** The bytes of a model file that holds `graph` under operator set 18. */
export function encodeOnnxFile(graph: OnnxGraph): Uint8Array {
  const model = {
    irVersion: IR_VERSION,
    producerName: 'preduce',
    opsetImport: [{ domain: '', version: ONNX_OPSET }],
    graph: {
      name: 'model',
      node: graph.nodes.map(({ opType, inputs, outputs, attributes }, i) => ({
        name: `${opType}:${i}`,
        opType,
        input: [...inputs],
        output: [...outputs],
        attribute: Object.entries(attributes).map(([name, attribute]) => attributeProto(name, attribute)),
      })),
      initializer: [...graph.constants].map(([name, tensor]) => tensorProto(name, tensor)),
      input: graph.inputs.map(portProto),
      output: graph.outputs.map(portProto),
    },
  };
  return onnx.ModelProto.encode(model).finish();
}
