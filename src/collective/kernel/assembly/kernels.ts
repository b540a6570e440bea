/**
 * The weighted sum, and the scan for values that are not finite, with SIMD: AssemblyScript, compiled to WebAssembly by
 * `npm run build:wasm`. The sum takes one pass: every value of every vector is read once, every sum written once. Rounds to float32 after each product and each sum, in the vectors'
 * order, as plain-kernel.ts does: both give the same bits.
 */

/** Values of one turn: eight SIMD registers of four. */
const BLOCK: i32 = 32;

/**
 * out[i] = sum over j of weights[j] * vectors[j][i], for `length` values.
 * `pointers`: `count` addresses of vectors (u32), `weights`: as many f32. All addresses are in the shared memory.
 */
export function weightedSum(out: usize, pointers: usize, weights: usize, count: i32, length: i32): void {
  let i = 0;
  for (; i + BLOCK <= length; i += BLOCK) {
    const at = (<usize>i) << 2;
    let x = <usize>load<u32>(pointers) + at;
    let w = f32x4.splat(load<f32>(weights));
    let s0 = f32x4.mul(w, v128.load(x));
    let s1 = f32x4.mul(w, v128.load(x, 16));
    let s2 = f32x4.mul(w, v128.load(x, 32));
    let s3 = f32x4.mul(w, v128.load(x, 48));
    let s4 = f32x4.mul(w, v128.load(x, 64));
    let s5 = f32x4.mul(w, v128.load(x, 80));
    let s6 = f32x4.mul(w, v128.load(x, 96));
    let s7 = f32x4.mul(w, v128.load(x, 112));
    for (let j = 1; j < count; j++) {
      x = <usize>load<u32>(pointers + ((<usize>j) << 2)) + at;
      w = f32x4.splat(load<f32>(weights + ((<usize>j) << 2)));
      s0 = f32x4.add(s0, f32x4.mul(w, v128.load(x)));
      s1 = f32x4.add(s1, f32x4.mul(w, v128.load(x, 16)));
      s2 = f32x4.add(s2, f32x4.mul(w, v128.load(x, 32)));
      s3 = f32x4.add(s3, f32x4.mul(w, v128.load(x, 48)));
      s4 = f32x4.add(s4, f32x4.mul(w, v128.load(x, 64)));
      s5 = f32x4.add(s5, f32x4.mul(w, v128.load(x, 80)));
      s6 = f32x4.add(s6, f32x4.mul(w, v128.load(x, 96)));
      s7 = f32x4.add(s7, f32x4.mul(w, v128.load(x, 112)));
    }
    const to = out + at;
    v128.store(to, s0);
    v128.store(to, s1, 16);
    v128.store(to, s2, 32);
    v128.store(to, s3, 48);
    v128.store(to, s4, 64);
    v128.store(to, s5, 80);
    v128.store(to, s6, 96);
    v128.store(to, s7, 112);
  }
  for (; i < length; i++) {
    const at = (<usize>i) << 2;
    let sum: f32 = load<f32>(weights) * load<f32>(<usize>load<u32>(pointers) + at);
    for (let j = 1; j < count; j++) {
      const offset = (<usize>j) << 2;
      sum += load<f32>(weights + offset) * load<f32>(<usize>load<u32>(pointers + offset) + at);
    }
    store<f32>(out + at, sum);
  }
}

/** Exponents of NaN and infinities are all ones. */
const EXPONENT: i32 = 0x7f80_0000;

/** Whether all `length` values at `at` are finite. */
export function allFinite(at: usize, length: i32): bool {
  const exponent = i32x4.splat(EXPONENT);
  let found = i32x4.splat(0);
  let i = 0;
  for (; i + 16 <= length; i += 16) {
    const x = at + ((<usize>i) << 2);
    const a = i32x4.eq(v128.and(v128.load(x), exponent), exponent);
    const b = i32x4.eq(v128.and(v128.load(x, 16), exponent), exponent);
    const c = i32x4.eq(v128.and(v128.load(x, 32), exponent), exponent);
    const d = i32x4.eq(v128.and(v128.load(x, 48), exponent), exponent);
    found = v128.or(found, v128.or(v128.or(a, b), v128.or(c, d)));
  }
  if (v128.any_true(found)) return false;
  for (; i < length; i++) {
    if ((load<i32>(at + ((<usize>i) << 2)) & EXPONENT) == EXPONENT) return false;
  }
  return true;
}
