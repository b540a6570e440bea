/**
 * What the program answers without training: help, and every refusal on exactly one line of stderr, with status 2 for what
 * was typed and 1 for what was found, and nothing written.
 */
import { createServer, type Server } from 'node:net';
import { mkdir, mkdtemp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

const COMMANDS = ['train', 'compare', 'report', 'controller', 'worker', 'server', 'certs', 'workloads'];
const SAMPLES = 200;

let place: Workplace;
let occupied: Server;
let occupiedPort = '';

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: SAMPLES, test: 20 });
  await writeTinyDigits(place.path('cut'), { train: SAMPLES, test: 20 });
  await truncate(place.path('cut/train-images-idx3-ubyte'), 1000);
  await writeTinyDigits(place.path('lacking'), { train: SAMPLES, test: 20 });
  await truncate(place.path('lacking/t10k-labels-idx1-ubyte'), 0);
  await mkdir(place.path('full'));
  await writeFile(place.path('full/precious'), '');
  await writeFile(place.path('file'), '');
  occupied = createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  const address = occupied.address();
  occupiedPort = typeof address === 'object' && address !== null ? String(address.port) : '';
});

afterAll(async () => {
  occupied.close();
  await place.close();
});

/** Ends with that status, one line that fits, nothing on stdout and nothing in its folder, beside which the data lie. */
async function expectRefusal(line: string, status: 1 | 2, message: RegExp): Promise<void> {
  const folder = await mkdtemp(place.path('at-'));
  const args = line.split(' ').map((part) => (part === 'OCCUPIED' ? occupiedPort : part === '""' ? '' : part));
  const { code, stdout, stderr } = await place.run(args, folder);
  expect({ code, stdout, lines: stderr.split('\n').length, stderr }).toEqual({
    code: status,
    stdout: '',
    lines: 2,
    stderr: expect.stringMatching(message),
  });
  expect(stderr).toMatch(/^preduce: .*\n$/);
  expect(await readdir(folder)).toEqual([]);
}

describe.concurrent('help', () => {
  it.each(COMMANDS)('of %s shows options and examples', async (command) => {
    const { code, stdout, stderr } = await place.run([command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: preduce ${command} `));
    expect(stdout).toMatch(new RegExp(`\nExamples:\n  preduce ${command}`));
  });

  it('fits a terminal of 80 columns', async () => {
    for (const command of ['', ...COMMANDS, 'bench collective']) {
      const { stdout } = await place.run([...command.split(' ').filter((word) => word !== ''), '--help']);
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  it.each(['train', 'bench collective'])('is what `help %s` shows, too', async (command) => {
    const words = command.split(' ');
    const { stdout } = await place.run([...words, '--help']);
    expect(await place.run(['help', ...words])).toMatchObject({ code: 0, stdout, stderr: '' });
  });

  it.each(['train', 'compare', 'controller', 'worker'])('of %s tells where options may stand', async (command) => {
    const { stdout } = await place.run([command, '--help']);
    expect(stdout).toMatch(/Flags\s+win\s+over\s+variables,\s+variables\s+over\s+the\s+file/);
    expect(stdout).toMatch(new RegExp(`\n  preduce ${command} --config \\w+\\.yaml`));
  });

  it('of the program names every command', async () => {
    const { code, stdout } = await place.run(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`\n  ${command} `));
    expect(stdout).toMatch(/\nExamples:\n {2}preduce/);
  });

  it('is what no command at all gets, as bad usage', async () => {
    const { code, stdout, stderr } = await place.run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: preduce/);
  });

  it('tells the version of the package', async () => {
    const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(text) as { version: string };
    expect(await place.run(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it('lists the workloads', async () => {
    const { code, stdout } = await place.run(['workloads']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^mnist-mlp +\S/m);
  });
});

describe.concurrent('bad usage', () => {
  it.each<[string, RegExp]>([
    ['trian', /unknown command 'trian' \(did you mean train\?\); see `preduce --help`/],
    ['trian --help', /unknown command 'trian' \(did you mean train\?\)/],
    ['help trian', /unknown command 'trian' \(did you mean train\?\)/],
    ['bench colective', /unknown command 'colective' \(did you mean collective\?\); see `preduce bench --help`/],
    ['help bench colective', /unknown command 'colective' \(did you mean collective\?\)/],
    [
      'bench collective --byts 1',
      /unknown option '--byts' \(did you mean --bytes\?\); see `preduce bench collective --h/,
    ],
    ['train --bach-size 3', /unknown option '--bach-size' \(did you mean --batch-size\?\); see `preduce train --help`/],
    ['train --workers', /'--workers <n>' argument missing/],
    ['train extra', /too many arguments/],
    ['train --workload mnist-mpl', /--workload: unknown workload "mnist-mpl" \(did you mean mnist-mlp\?\)/],
    ['train --strategy all-redcue', /--strategy: unknown strategy "all-redcue" \(did you mean all-reduce\?\)/],
    ['train --weights dynmic', /--weights "dynmic" \(did you mean dynamic\?\)/],
    ['train --workers two', /--workers: expected a whole number, got "two"/],
    ['train --workers 1.5', /--workers: expected a whole number, got "1.5"/],
    ['train --workers 0', /--workers: expected a whole number of at least 1, got 0/],
    ['train --workers 2 --group-size 3', /--group-size: expected at most the 2 workers of the run, got 3/],
    ['train --group-size 1', /--group-size: expected at least 2 workers in a group, got 1/],
    ['train --lr 0', /--lr: expected .*, got 0/],
    ['train --lr fast', /--lr: expected a number, got "fast"/],
    ['train --momentum 1', /--momentum: expected .*, got 1/],
    ['train --steps 0', /--steps: expected .*, got 0/],
    ['train --epochs -1', /--epochs: expected .*, got -1/],
    ['train --duration 5parsecs', /--duration: expected a duration like .*, got "5parsecs"/],
    ['train --target-accuracy 97', /--target-accuracy: expected a share .*, got 97/],
    ['train --alpha 1', /--alpha: expected .*, got 1/],
    ['train --liveness 0s', /--liveness: expected .*, got 0 ms/],
    ['train --connectivity-groups 0', /--connectivity-groups: expected .*, got 0/],
    ['train --slow hl', /--slow "hl": /],
    ['train --slow straggler:9,4', /--slow straggler:9,4: the run has workers 0 to 3, got worker 9/],
    ['train --out ""', /--out: expected a path, got nothing/],
    ['train --data ../digits --batch-size 201', /--batch-size: expected at most the 200 samples .*, got 201/],
    ['train --data ../digits --workers 201 --batch-size 1', /--workers: 201 workers .* the training set has 200/],
    ['compare --strategies all-redcue', /--strategies: unknown strategy "all-redcue" \(did you mean all-reduce\?\)/],
    ['compare --strategies all-reduce,all-reduce', /--strategies: each can be named once/],
    ['compare --repeat 0', /--repeat: expected .* at least 1, got 0/],
    ['controller --port 65536', /--port: expected a port from 0 to 65535, got 65536/],
    ['controller --bind 0.0.0.0', /--bind 0\.0\.0\.0: expected a --token-file/],
    ['controller --token-file nowhere', /--token-file: expected a readable file/],
    ['controller --token-file ../file', /--token-file: expected a token in \.\.\/file, got an empty file/],
    ['controller --strategy all-redcue', /unknown strategy "all-redcue" \(did you mean all-reduce\?\)/],
    ['controller --workers 2 --group-size 3', /--group-size: expected at most the 2 workers of the run, got 3/],
    ['controller --batch-size 20', /--batch-size: expected a --workload beside it, got none/],
    ['worker', /--controller: expected the controller's address, got none: .* PREDUCE_CONTROLLER/],
    ['worker --controller nonsense', /--controller: expected an address like ws:.*, got "nonsense"/],
    ['certs lab --days 0', /--days: expected 1 to 3650 days, got 0/],
    ['certs lab --hosts http://10.0.0.1', /--hosts: expected host names or IP addresses, got "http:/],
    ['controller --tls-cert ../file', /--tls-cert: expected a --tls-key beside it, got none/],
    ['worker --controller ws://127.0.0.1:1 --tls-ca ../file', /--tls-ca: expected a wss:.* beside it, got ws:/],
    ['worker --controller ws://127.0.0.1:1 --worker -1', /--worker: expected a number from 0, got -1/],
  ])('preduce %s', async (line, message) => {
    await expectRefusal(line, 2, message);
  });
});

describe.concurrent('failures before anything starts', () => {
  it.each<[string, RegExp]>([
    ['train --data nowhere', /expected a folder with the MNIST files, got "ENOENT.*--data DIR/],
    ['train --data ../cut', /train-images-idx3-ubyte .*truncated/],
    ['compare --data ../lacking', /t10k-labels-idx1-ubyte/],
    [
      'train --data ../digits --batch-size 10 --out ../full',
      /expected a new or an empty directory .*full.*choose another --out/,
    ],
    ['train --data ../digits --batch-size 10 --out ../file/run', /expected to make the run directory .*ENOTDIR.*--out/],
    ['compare --data ../digits --batch-size 10 --out ../full', /expected a new or an empty directory .*full.*--out/],
    ['controller --port OCCUPIED', /expected to listen on 127\.0\.0\.1:\d+, but another program uses it/],
    ['controller --port OCCUPIED --out served', /another program uses it/],
    [
      'controller --port OCCUPIED --workload mnist-mlp --data ../digits --batch-size 10 --out served',
      /another program uses it/,
    ],
    ['report nowhere', /nowhere/],
  ])('preduce %s', async (line, message) => {
    await expectRefusal(line, 1, message);
  });
});

it('leaves what lay in a refused directory alone', async () => {
  expect(await readdir(place.path('full'))).toEqual(['precious']);
});
