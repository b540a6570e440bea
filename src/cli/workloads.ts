/**
 * `preduce workloads`: what can be trained by name.
 */
import type { Command } from 'commander';
import { workloads } from '../training/workload.js';

export function addWorkloadsCommand(program: Command): void {
  program
    .command('workloads')
    .description('list what can be trained by name')
    .addHelpText('after', '\nExamples:\n  preduce workloads\n')
    .action(() => {
      for (const { name, description, defaults } of workloads) {
        const { batchSamples, learningRate, momentum, epochs } = defaults;
        process.stdout.write(
          `${name.padEnd(16)} ${description} (batch ${batchSamples}, learning rate ${learningRate}, momentum ${momentum}, ${epochs} epochs)\n`,
        );
      }
    });
}
