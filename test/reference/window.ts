/**
 * A sliding window in plain loops, for the references of convolution and pooling.
 */

export interface ReferenceWindow {
  readonly batch: number;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly padding: readonly [number, number];
}

export function outputSize({ height, width, kernel, stride, padding }: ReferenceWindow): [number, number] {
  return [
    Math.floor((height + 2 * padding[0] - kernel[0]) / stride[0]) + 1,
    Math.floor((width + 2 * padding[1] - kernel[1]) / stride[1]) + 1,
  ];
}

/** Calls `visit` for each cell of the window at output (oy, ox) that lies inside the input. */
export function eachCell(
  { height, width, kernel, stride, padding }: ReferenceWindow,
  oy: number,
  ox: number,
  visit: (i: number, j: number, iy: number, ix: number) => void,
): void {
  for (let i = 0; i < kernel[0]; i += 1) {
    for (let j = 0; j < kernel[1]; j += 1) {
      const iy = oy * stride[0] + i - padding[0];
      const ix = ox * stride[1] + j - padding[1];
      if (iy >= 0 && iy < height && ix >= 0 && ix < width) visit(i, j, iy, ix);
    }
  }
}

/** Calls `visit` for each cell of each plane's windows: `input` and `output` are flat indices. */
export function eachPooledCell(window: ReferenceWindow, visit: (input: number, output: number) => void): void {
  const { batch, channels, height, width } = window;
  const [rows, columns] = outputSize(window);
  for (let plane = 0; plane < batch * channels; plane += 1) {
    for (let oy = 0; oy < rows; oy += 1) {
      for (let ox = 0; ox < columns; ox += 1) {
        const output = (plane * rows + oy) * columns + ox;
        eachCell(window, oy, ox, (_i, _j, iy, ix) => visit((plane * height + iy) * width + ix, output));
      }
    }
  }
}
