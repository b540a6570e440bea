/**
 * The part of WebAssembly's JavaScript interface that this project uses: TypeScript declares it with the DOM only, which
 * neither this project nor those who compile against it need.
 */

/** A shared memory; crosses threads by structured clone. */
export interface WasmMemory {
  readonly buffer: SharedArrayBuffer;
}

interface WebAssemblyHost {
  readonly Memory: new (descriptor: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: true;
  }) => WasmMemory;
  instantiate(
    bytes: Uint8Array,
    imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>;
}

export const { WebAssembly: webAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyHost };
