import onnxProto from 'onnx-proto';
import { describe, expect, it } from 'vitest';
import { encodeOnnxFile } from './onnx-file.js';
import { createOnnxBuilder } from './onnx-graph.js';

describe('encodeOnnxFile', () => {
  it('keeps nodes, attributes, constants and ports', () => {
    const builder = createOnnxBuilder();
    const axes = builder.constant('int64', [-1, 5]);
    const half = builder.constant('float32', [0.5], []);
    const attributes = {
      axis: { int: -1 },
      pads: { ints: [0, 1] },
      alpha: { float: 0.25 },
      reduction: { string: 'add' },
      to: { type: 'int32' },
    } as const;
    builder.node('Made', ['x', axes, half], attributes, 'y');
    const bytes = encodeOnnxFile(
      builder.finish([{ name: 'x', type: 'float32', shape: ['batch', 3] }], [{ name: 'y', type: 'bool', shape: [] }]),
    );

    const { graph, opsetImport } = onnxProto.onnx.ModelProto.toObject(onnxProto.onnx.ModelProto.decode(bytes), {
      longs: Number,
      arrays: true,
    });
    expect(opsetImport).toEqual([{ domain: '', version: 18 }]);
    const node = graph.node[0];
    expect([node.opType, node.input, node.output]).toEqual(['Made', ['x', axes, half], ['y']]);
    const byName = Object.fromEntries(node.attribute.map((attribute: { name: string }) => [attribute.name, attribute]));
    expect(byName.axis.i).toBe(-1);
    expect(byName.pads.ints).toEqual([0, 1]);
    expect(byName.alpha.f).toBe(0.25);
    expect(new TextDecoder().decode(byName.reduction.s)).toBe('add');
    expect(byName.to.i).toBe(onnxProto.onnx.TensorProto.DataType.INT32);
    expect(graph.initializer[0]).toMatchObject({ name: axes, dims: [2], int64Data: [-1, 5] });
    expect(graph.initializer[1]).toMatchObject({ name: half, dims: [], floatData: [0.5] });
    expect(graph.input[0].type.tensorType.shape.dim).toEqual([{ dimParam: 'batch' }, { dimValue: 3 }]);
    expect(graph.output[0].type.tensorType.elemType).toBe(onnxProto.onnx.TensorProto.DataType.BOOL);
  });
});
