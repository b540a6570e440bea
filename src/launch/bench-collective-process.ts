/**
 * Entry of one member in `preduce bench collective`: copies its replica in, reduces, copies the average out, on each variant
 * in turn, when it is told.
 */
import { performance } from 'node:perf_hooks';
import { assert, assertPresent } from '../base/assert.js';
import type { GroupId } from '../base/ids.js';
import { createCommunicator } from '../collective/communicator.js';
import { plainKernel } from '../collective/kernel/plain-kernel.js';
import { createVectorMemory } from '../collective/kernel/vector-memory.js';
import type { Communicator } from '../collective/task.js';
import { createTcpTransport } from '../transport/tcp.js';
import type { Peer } from '../wire/messages.js';
import type { BenchAnswer, BenchRequest } from './bench-collective.js';
import { followParent } from './child-process.js';

const tell = (answer: BenchAnswer): void => {
  process.send?.(answer);
};

type Setup = Extract<BenchRequest, { type: 'setup' }>;

async function prepare({ rank, length, variants }: Setup): Promise<(request: BenchRequest) => Promise<void>> {
  const memory = createVectorMemory(length);
  const simdKernel = await memory.loadKernel();
  const replica = new Float32Array(length);
  const communicators: Communicator[] = [];
  for (const { kernel, localSockets, inPlace } of variants) {
    const communicator = await createCommunicator(
      {
        listen: { host: '127.0.0.1', port: 0 },
        serve: () => null,
        kernel: kernel === 'simd' ? simdKernel : plainKernel,
      },
      { transport: createTcpTransport({ localSockets, inPlace }) },
    );
    communicator.setIdentity({ role: 'worker', worker: rank, incarnation: 1, runKey: 'bench' });
    communicators.push(communicator);
  }
  tell({ type: 'listening', kernel: simdKernel.name, addresses: communicators.map(({ address }) => address) });
  let peers: readonly (readonly Peer[])[] = [];

  async function run(variant: number, group: number): Promise<void> {
    const members = assertPresent(peers[variant], 'the members');
    replica.fill(rank + 1);
    const startedMs = performance.now();
    memory.input.set(replica);
    await assertPresent(communicators[variant], 'the communicator').reduce({
      group: group as GroupId,
      collective: assertPresent(variants[variant], 'the variant').collective,
      members,
      rank,
      weights: members.map(() => 1 / members.length),
      input: memory.input,
      output: memory.output,
      scratch: memory.scratch,
      signal: new AbortController().signal,
    });
    replica.set(memory.output);
    const elapsedMs = performance.now() - startedMs;
    const expected = (members.length + 1) / 2;
    assert(
      replica.every((value) => Math.abs(value - expected) < 1e-5),
      `the average of 1 to ${members.length} is ${expected}`,
    );
    tell({ type: 'ran', elapsedMs });
  }

  return async (request) => {
    if (request.type === 'peers') peers = request.peers;
    else if (request.type === 'run') await run(request.variant, request.group);
  };
}

followParent();
process.channel?.ref();
process.once('message', (setup: Setup) => {
  void prepare(setup).then((handle) => process.on('message', (request: BenchRequest) => void handle(request)));
});
