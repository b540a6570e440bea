/**
 * Which controllers a worker talks to over TLS, and when it shows its token.
 */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startControlServer } from '../controller/control-server.js';
import { type Certificates, createCertificates } from '../security/certificates.js';
import type { ControllerMessage, WorkerMessage } from '../wire/messages.js';
import { connectControl } from './control-connection.js';
import { checkCleartext, type Trust } from './trust.js';

let lab: Certificates;
let otherLab: Certificates;
let expired: Certificates;

beforeAll(async () => {
  [lab, otherLab, expired] = await Promise.all([
    createCertificates({ hosts: [], days: 1 }),
    createCertificates({ hosts: [], days: 1 }),
    createCertificates({ hosts: [], days: -0.5 }),
  ]);
});

interface Served {
  readonly port: number;
  readonly heard: WorkerMessage[];
}

/** A controller that answers `hello` with `close`. */
async function serve(certificates: Certificates | null, host = '127.0.0.1'): Promise<Served> {
  const heard: WorkerMessage[] = [];
  const server = await startControlServer({
    address: { host, port: 0 },
    tls: certificates === null ? null : certificates.certificate,
    requestTimeoutMs: 5000,
    health: () => ({}),
    accept: (peer) => ({
      onMessage(message) {
        heard.push(message);
        peer.send({ type: 'close', reason: 'heard' });
      },
      onClose: () => undefined,
    }),
  });
  onTestFinished(() => server.close());
  return { port: server.address.port, heard };
}

/** Connects, shows a token, and gives the answer. */
async function greet(controller: string, trust: Trust | null): Promise<ControllerMessage> {
  let take: (message: ControllerMessage) => void = () => undefined;
  const answer = new Promise<ControllerMessage>((resolve) => {
    take = resolve;
  });
  const control = await connectControl(
    { controller, token: 'a secret', trust, role: 'worker', connectTimeoutMs: 60 },
    { onMessage: (message) => take(message), onClose: () => undefined },
  );
  const first = await answer;
  control.close();
  return first;
}

function authorityOf({ authority }: Certificates): Trust {
  return { kind: 'authority', pem: authority.certificate };
}

describe('a controller at a wss:// address', () => {
  it('is believed when the authority that is trusted has signed its certificate', async () => {
    const { port, heard } = await serve(lab);
    expect(await greet(`wss://127.0.0.1:${port}`, authorityOf(lab))).toEqual({ type: 'close', reason: 'heard' });
    expect(await greet(`wss://localhost:${port}`, authorityOf(lab))).toEqual({ type: 'close', reason: 'heard' });
    expect(heard).toMatchObject([{ token: 'a secret' }, { token: 'a secret' }]);
  });

  it.each<[string, () => Certificates, () => Trust | null, RegExp]>([
    ['an authority that nobody named', () => lab, () => null, /does not trust: pass --tls-ca/],
    ['another authority', () => lab, () => authorityOf(otherLab), /does not trust: pass --tls-ca/],
    ['a time that is over', () => expired, () => authorityOf(expired), /has expired/],
  ])('is not told the token with a certificate of %s', async (_, certificates, trust, message) => {
    const { port, heard } = await serve(certificates());
    const outcome = greet(`wss://127.0.0.1:${port}`, trust());
    await expect(outcome).rejects.toMatchObject({
      code: 'untrusted',
      message: expect.stringMatching(message) as string,
    });
    expect(heard).toEqual([]);
  });

  // Elsewhere loopback has one address.
  it.runIf(process.platform === 'linux')('is not told the token with a certificate for other hosts', async () => {
    const { port, heard } = await serve(lab, '127.0.0.2');
    await expect(greet(`wss://127.0.0.2:${port}`, authorityOf(lab))).rejects.toMatchObject({
      code: 'untrusted',
      message: expect.stringMatching(/for other hosts/) as string,
    });
    expect(heard).toEqual([]);
  });

  it('is known by its very certificate, under any name', async () => {
    const { port, heard } = await serve(lab);
    const own: Trust = { kind: 'certificate', pem: lab.certificate.certificate };
    const other: Trust = { kind: 'certificate', pem: otherLab.certificate.certificate };
    expect(await greet(`wss://127.0.0.1:${port}`, own)).toEqual({ type: 'close', reason: 'heard' });
    await expect(greet(`wss://127.0.0.1:${port}`, other)).rejects.toMatchObject({ code: 'untrusted' });
    expect(heard).toHaveLength(1);
  });

  it('is recognised as one that speaks no TLS', async () => {
    const { port } = await serve(null);
    await expect(greet(`wss://127.0.0.1:${port}`, authorityOf(lab))).rejects.toMatchObject({
      code: 'untrusted',
      message: expect.stringMatching(/does not speak TLS/) as string,
    });
  });

  it('is pointed to when a ws:// address is tried', async () => {
    const { port, heard } = await serve(lab);
    await expect(greet(`ws://127.0.0.1:${port}`, null)).rejects.toMatchObject({
      code: 'controller-unreachable',
      message: expect.stringMatching(/if it has --tls-cert, use wss:/) as string,
    });
    expect(heard).toEqual([]);
  });
});

describe('checkCleartext', () => {
  const token = 'a secret';

  it.each([
    ['no token', { controller: 'ws://10.0.0.1:29400', token: null }],
    ['loopback', { controller: 'ws://127.0.0.1:29400', token }],
    ['loopback of IPv6', { controller: 'ws://[::1]:29400', token }],
    ['TLS', { controller: 'wss://10.0.0.1:29400', token }],
    ['a network that is trusted', { controller: 'ws://10.0.0.1:29400', token, insecure: true }],
  ])('passes with %s', (_, target) => {
    expect(() => checkCleartext(target)).not.toThrow();
  });

  it.each(['ws://10.0.0.1:29400', 'ws://controller.example', 'ws://127.example.com:1', 'ws://[fd00::1]:29400'])(
    'does not send a token to %s',
    (controller) => {
      expect(() => checkCleartext({ controller, token })).toThrow(
        expect.objectContaining({ code: 'bad-option', message: expect.stringContaining(controller) as string }),
      );
    },
  );

  it('does not put the token into its message', () => {
    expect(() => checkCleartext({ controller: 'ws://10.0.0.1:29400', token })).toThrow(/^(?!.*a secret)/);
  });
});
