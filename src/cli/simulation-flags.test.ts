import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addRunFlags } from './run-flags.js';
import { addMissingSimulationFlags, checkMeaning, simulationFlagsOf } from './simulation-flags.js';

function parsed(args: string): Command {
  const command = addMissingSimulationFlags(
    addRunFlags(new Command('compare'), 'mnist-mlp').option('--repeat <r>', ''),
  );
  return command.exitOverride().parse(args.split(' ').filter(Boolean), { from: 'user' });
}

describe('flags of compare --simulate', () => {
  it('takes those of a simulation, but for the defaults of a run', () => {
    const command = parsed('--workers 16 --slow hl:3 --compute 20ms --target-loss .1 --repeat 3 --out there --json');
    expect(() => checkMeaning(command, true)).not.toThrow();
    expect(simulationFlagsOf(command)).toEqual({ workers: 16, slow: ['hl:3'], compute: 20, targetLoss: 0.1 });
  });

  it('leaves those of a run to a run', () => {
    expect(() =>
      checkMeaning(parsed('--workers 16 --slow hl:3 --epochs 2 --liveness 2s --out there'), false),
    ).not.toThrow();
    expect(simulationFlagsOf(parsed(''))).toEqual({});
  });

  it.each([
    ['--epochs 2', true, '--epochs: expected none beside --simulate: no simulation has it, leave it out'],
    ['--liveness 2s', true, '--liveness: expected none beside --simulate: no simulation has it, leave it out'],
    ['--latency 1ms', false, '--latency: expected --simulate beside it: only simulations have it'],
    ['--target-loss 1', false, '--target-loss: expected --simulate beside it: only simulations have it'],
  ])('refuses %s where simulated is %s', (args, isSimulated, message) => {
    expect(() => checkMeaning(parsed(args), isSimulated)).toThrow(message);
  });

  it('shows its own under a heading', () => {
    const help = parsed('').helpInformation();
    expect(help.indexOf('--epochs')).toBeLessThan(help.indexOf('With --simulate:'));
    expect(help.indexOf('--bandwidth')).toBeGreaterThan(help.indexOf('With --simulate:'));
    expect(help).not.toContain('--strategy ');
  });
});
