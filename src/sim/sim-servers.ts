/**
 * The parameter servers of a simulated run: the shards of real ones (training/server-shard.ts), which apply groups in the order in
 * which the controller formed them.
 */
import { serverPart } from '../collective/plan/server.js';
import type { Group } from '../core/group.js';
import { createServerShard } from '../training/server-shard.js';

export interface SimServersOptions {
  /** The initial parameters. */
  readonly values: Float32Array;
  readonly servers: number;
  readonly learningRate: number;
  readonly momentum: number;
}

export interface SimServers {
  /** Applies the group's weighted sum and overwrites it with what its members pull. */
  apply(group: Group, sum: Float32Array): void;
}

export function createSimServers({ values, servers, learningRate, momentum }: SimServersOptions): SimServers {
  const shards = Array.from({ length: servers }, (_, server) => {
    const { start, end } = serverPart({ servers, length: values.length }, server);
    const shard = createServerShard({
      values: values.slice(start, end),
      parameterCount: end - start,
      optimizer: { optimizer: 'sgd', momentum, nesterov: false, weightDecay: 0 },
    });
    return { start, end, shard };
  });
  return {
    apply({ id, members }, sum) {
      const weights = members.map(({ weight }) => weight);
      for (const { start, end, shard } of shards) {
        shard.push(sum.subarray(start, end), { group: id, weights, learningRate });
      }
    },
  };
}
