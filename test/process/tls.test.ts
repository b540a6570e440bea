/**
 * A run across processes as one across machines: certificates and a token of `preduce certs`, everything encrypted, and who is
 * not let in while it goes on.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findWorkload } from '../../src/training/workload.js';
import { createTcpTransport } from '../../src/transport/tcp.js';
import type { Address } from '../../src/wire/messages.js';
import { connectClient, HELLO, JOIN } from '../support/control-client.js';
import { type CliProcess, openWorkplace, type Workplace, writeTinyDigits } from './cli-run.js';

let place: Workplace;
let controller: CliProcess;
let url: string;
let ca: string;
let token: string;

const CREDENTIALS = ['--token-file', 'lab/token.txt', '--tls-ca', 'lab/ca.pem'];

beforeAll(async () => {
  place = await openWorkplace();
  await writeTinyDigits(place.path('digits'), { train: 400, test: 50 });
  await place.run(['certs', 'lab', '--hosts', 'controller.lab,10.0.0.1', '--days', '2']);
  ca = await readFile(place.path('lab/ca.pem'), 'utf8');
  token = await readFile(place.path('lab/token.txt'), 'utf8');
  const tls = [
    '--token-file',
    'lab/token.txt',
    '--tls-cert',
    'lab/controller.pem',
    '--tls-key',
    'lab/controller-key.pem',
  ];
  const run = ['--workload', 'mnist-mlp', '--data', 'digits', '--batch-size', '10', '--epochs', '1000', '--out', 'run'];
  controller = place.start(['controller', '--workers', '2', '--port', '0', ...tls, ...run]);
  [, url = ''] = await controller.said(/listening at (wss:\/\/\S+), waiting/);
});

afterAll(() => place.close());

/** Groups that the run has formed so far. */
async function groups(): Promise<number> {
  return (await readFile(place.path('run/events.jsonl'), 'utf8')).split('"groupFormed"').length - 1;
}

/** A worker's data port, as somebody learns it who has the token: it is told whom to fetch the model from. */
async function learnDataPort(): Promise<Address> {
  const model = await findWorkload('mnist-mlp').createModel({ seed: 1, threads: 1 });
  const layout = [...model.layout, ...model.auxiliaryLayout];
  const length = model.parameters.length + model.auxiliary.length;
  await model.release();
  const client = await connectClient(url, ca);
  client.send({ ...HELLO, token: token.trim() });
  await client.next('welcome');
  client.send({ ...JOIN, layout, exchangeLength: length, stateLength: length });
  const { donor } = await client.next('transfer');
  client.terminate();
  return donor.address;
}

it('refuses who has no token, no authority to trust, or files that are there', async () => {
  const refused = (args: readonly string[]) => place.run(['worker', '--controller', url, ...args]);
  const [noAuthority, noToken, again] = await Promise.all([
    refused(['--token-file', 'lab/token.txt']),
    refused(['--tls-ca', 'lab/ca.pem']),
    place.run(['certs', 'lab']),
  ]);
  expect(noAuthority).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^preduce: .*does not trust: pass --tls-ca.*\n$/) as string,
  });
  expect(noToken).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^preduce: the controller expects a token and got none.*\n$/) as string,
  });
  expect(again).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^preduce: lab: expected a folder to write new files to/) as string,
  });
});

it('trains with everything encrypted, and keeps strangers off the data ports meanwhile', async () => {
  const workers = [1, 2].map(() => place.start(['worker', '--controller', url, ...CREDENTIALS]));
  await controller.said(/worker 1 joined/);
  await expect.poll(() => groups().catch(() => 0), { timeout: 30_000 }).toBeGreaterThan(5);

  const port = await learnDataPort();
  const stranger = connect({ host: port.host, port: port.port });
  const heard: Buffer[] = [];
  stranger.on('data', (bytes) => heard.push(bytes));
  stranger.on('error', () => undefined);
  const closed = once(stranger, 'close');
  stranger.write(Buffer.alloc(100, 'PRPD'));
  await closed;
  // An alert of TLS at most.
  expect(Buffer.concat(heard).length).toBeLessThan(20);
  const guessing = createTcpTransport({ encrypts: true });
  guessing.setKey?.('a guess');
  const handlers = { onFrame: () => undefined, onClose: () => undefined };
  const { signal } = new AbortController();
  await expect(guessing.dial(port, () => handlers, { signal })).rejects.toMatchObject({ code: 'connection-lost' });

  const formed = await groups();
  await expect.poll(groups, { timeout: 30_000 }).toBeGreaterThan(formed + 5);
  controller.process.kill('SIGINT');
  const ended = await controller.ended;
  expect(ended).toMatchObject({ code: 130, stdout: expect.stringMatching(/test accuracy (9\d|100)/) as string });
  expect((await Promise.all(workers.map((worker) => worker.ended))).map(({ code }) => code)).toEqual([0, 0]);
  // Nowhere said, nowhere written.
  const written = await Promise.all(
    ['events.jsonl', 'log.txt', 'config.json'].map((name) =>
      readFile(place.path(`run/${name}`), 'utf8').catch(() => ''),
    ),
  );
  expect([ended.stdout, ended.stderr, ...written].join('')).not.toContain(token.trim());
});
