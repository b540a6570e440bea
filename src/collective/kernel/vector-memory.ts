/**
 * Memory of one member's collectives, shared between the training thread, which fills and reads the vectors, and the comm
 * thread, which sends, receives and sums. It is WebAssembly memory, so that the SIMD kernel reaches all of it.
 */
import { LIMITS } from '../../wire/limits.js';
import { plainKernel } from './plain-kernel.js';
import type { ReduceKernel } from './reduce-kernel.js';
import { loadSimdKernel } from './simd-kernel.js';
import { type WasmMemory, webAssembly } from './webassembly.js';

/** What crosses to another thread. */
export interface SharedMemory {
  /** Null: too long for WebAssembly's 4 GiB, `buffer` is all there is. */
  readonly memory: WasmMemory | null;
  readonly buffer: SharedArrayBuffer;
  /** Values of `input` and of `output`. */
  readonly length: number;
}

export interface VectorMemory {
  readonly shared: SharedMemory;
  /** This member's vector. */
  readonly input: Float32Array;
  /** The group's average. */
  readonly output: Float32Array;
  /** Where slices of the others' vectors arrive: `length` values, and some room to align them. */
  readonly scratch: Float32Array;
  /** SIMD where that works, else plain. */
  loadKernel(moduleUrl?: URL): Promise<ReduceKernel>;
}

const PAGE_BYTES = 65_536;
const PAGES_MAX = 65_536;
const BYTES_PER_VALUE = Float32Array.BYTES_PER_ELEMENT;
/** Vectors begin at multiples of this many values, a cache line. */
export const ALIGNMENT = 16;

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** Values of the whole: input, output, scratch with a slice's alignment for each member, the kernel's arguments. */
function totalLength(length: number): number {
  return 3 * aligned(length) + (ALIGNMENT + 2) * LIMITS.workersMax;
}

/** Memory for collectives of `length` values; all zero. */
export function createVectorMemory(length: number): VectorMemory {
  const bytes = BYTES_PER_VALUE * totalLength(length);
  const pages = Math.ceil(bytes / PAGE_BYTES);
  if (pages > PAGES_MAX) return openVectorMemory({ memory: null, buffer: new SharedArrayBuffer(bytes), length });
  const memory = new webAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  return openVectorMemory({ memory, buffer: memory.buffer, length });
}

/** The same memory, in the thread that it was handed to. */
export function openVectorMemory(shared: SharedMemory): VectorMemory {
  const { memory, length } = shared;
  // A memory that crossed threads has a buffer object of its own there, by which the kernel knows its vectors.
  const buffer = memory === null ? shared.buffer : memory.buffer;
  const view = (start: number, count: number): Float32Array => new Float32Array(buffer, BYTES_PER_VALUE * start, count);
  const step = aligned(length);
  const scratchLength = step + ALIGNMENT * LIMITS.workersMax;
  return {
    shared,
    input: view(0, length),
    output: view(step, length),
    scratch: view(2 * step, scratchLength),
    async loadKernel(moduleUrl) {
      if (memory === null) return plainKernel;
      const room = view(2 * step + scratchLength, 2 * LIMITS.workersMax);
      try {
        return await loadSimdKernel({ memory, arguments: room, ...(moduleUrl === undefined ? {} : { moduleUrl }) });
      } catch {
        // No SIMD on this host, or not built: slower, and the same sums.
        return plainKernel;
      }
    },
  };
}
