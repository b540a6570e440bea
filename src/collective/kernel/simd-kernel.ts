/**
 * The weighted sum with WebAssembly SIMD, on vectors that lie in one shared WebAssembly memory (vector-memory.ts). Vectors
 * elsewhere, and hosts without SIMD, get the plain kernel.
 */
import { readFile } from 'node:fs/promises';
import { plainKernel } from './plain-kernel.js';
import type { ReduceKernel } from './reduce-kernel.js';
import { type WasmMemory, webAssembly } from './webassembly.js';

/** `assembly/kernels.ts`, compiled beside this module. */
const MODULE_URL = new URL('./kernels.wasm', import.meta.url);

type AllFinite = (at: number, length: number) => number;
type WeightedSum = (out: number, pointers: number, weights: number, count: number, length: number) => void;

export interface SimdKernelOptions {
  /** Memory of the vectors. */
  readonly memory: WasmMemory;
  /** Room for one call's addresses and weights: a view of the memory, two values for each member of the largest group. */
  readonly arguments: Float32Array;
  /** Default: beside this module. */
  readonly moduleUrl?: URL;
}

/** Throws what WebAssembly and the file system throw, where they cannot. */
export async function loadSimdKernel(options: SimdKernelOptions): Promise<ReduceKernel> {
  const { memory } = options;
  const { instance } = await webAssembly.instantiate(await readFile(options.moduleUrl ?? MODULE_URL), {
    env: { memory },
  });
  const weightedSum = instance.exports['weightedSum'] as WeightedSum;
  const allFinite = instance.exports['allFinite'] as AllFinite;
  const { byteOffset, length: room } = options.arguments;
  const pointers = new Uint32Array(memory.buffer, byteOffset, room / 2);
  const factors = new Float32Array(memory.buffer, byteOffset + 2 * room, room / 2);
  return {
    name: 'simd',
    weightedSumInto(out, vectors, weights) {
      const here = [out, ...vectors].every((vector) => vector.buffer === memory.buffer);
      if (!here || vectors.length > pointers.length) return plainKernel.weightedSumInto(out, vectors, weights);
      let count = 0;
      vectors.forEach((vector, j) => {
        const weight = Math.fround(weights[j] ?? 0);
        if (weight === 0) return;
        pointers[count] = vector.byteOffset;
        factors[count] = weight;
        count += 1;
      });
      if (count === 0) out.fill(0);
      else weightedSum(out.byteOffset, pointers.byteOffset, factors.byteOffset, count, out.length);
    },
    isFinite(vector) {
      if (vector.buffer !== memory.buffer) return plainKernel.isFinite(vector);
      return allFinite(vector.byteOffset, vector.length) !== 0;
    },
  };
}
