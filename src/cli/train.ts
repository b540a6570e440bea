/**
 * `preduce train`: one run on this machine, from the first process to the model and the report.
 */
import type { Command } from 'commander';
import type { CheckpointEvery } from '../launch/run-options.js';
import type { RunResult } from '../launch/run-output.js';
import { describeRun } from './describe-run.js';
import { catchInterrupts, EXIT_INTERRUPTED } from './interrupts.js';
import { SOURCES_HELP } from './option-sources.js';
import { createProgress, createSilence } from './progress.js';
import { path, samplesOrTime } from './parse.js';
import { addRunFlags, type RunFlags, runOptionsOf } from './run-flags.js';

interface TrainFlags extends RunFlags {
  readonly strategy?: string;
  readonly resume?: string;
  readonly checkpointEvery?: CheckpointEvery;
}

export function addTrainCommand(program: Command): void {
  const command = program
    .command('train')
    .description('train on this machine: a controller and N worker processes, ending with the model and a report')
    .option(
      '--strategy <name>',
      'partial-reduce (default), all-reduce, local-sgd, eager-reduce, ad-psgd, ps-bsp, ps-asp, ps-ssp, ps-backup or ps-hete',
    )
    .option(
      '--resume <dir>',
      'go on from the newest checkpoint of this run directory, with its options',
      path('--resume'),
    )
    .option(
      '--checkpoint-every <samples|time>',
      'checkpoint after so many samples of all workers, or a time like 5m (default: once an epoch)',
      samplesOrTime('--checkpoint-every'),
    );
  addRunFlags(command)
    .addHelpText(
      'after',
      `${SOURCES_HELP}
Examples:
  preduce train                                        MNIST by 4 workers
  preduce train --slow straggler:3,4 --epochs 5        one is 4 times slower
  preduce train --strategy all-reduce --json --quiet   for scripts
  preduce train --config run.yaml --seed 2             options from a file
  preduce train --resume runs/NAME                     go on with a run`,
    )
    .action(runTrain);
}

async function runTrain(flags: TrainFlags): Promise<void> {
  const { train } = await import('../launch/train.js');
  const { strategy, resume, checkpointEvery, out } = flags;
  const options = {
    ...runOptionsOf(flags),
    ...(strategy === undefined ? {} : { strategy }),
    ...(resume === undefined ? {} : { resume }),
    ...(checkpointEvery === undefined ? {} : { checkpointEvery }),
    ...(out === undefined ? {} : { out }),
  };
  const progress = flags.quiet === true ? createSilence() : createProgress({ label: 'train', stream: process.stderr });
  const { signal, restore } = catchInterrupts((line) => progress.say(line));
  let result: RunResult;
  try {
    result = await train({
      ...options,
      signal,
      onEvent: (event, running) => progress.onEvent(event, running),
      onPhase: (phase) => progress.say(phase),
      onGoal: (goal) => progress.aim(goal),
    });
  } finally {
    progress.stop();
    restore();
  }
  if (result.interrupted) process.exitCode = EXIT_INTERRUPTED;
  if (flags.json === true) process.stdout.write(`${JSON.stringify(result.summary)}\n`);
  else process.stdout.write(describeRun(result));
}
