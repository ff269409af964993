// Bytes that no HTTP client would send: requests whose end two parsers may see in different places. Each hides another request,
// for a path that contains `hidden`, where a lenient parser would find it.
import { connect } from 'node:net'

/**
 * Sends bytes from an address of loopback, and more of them once an answer has begun. Returns what came back until the connection
 * was closed or silent for a while.
 */
export function sendBytes(port: number, bytes: Buffer, { from = '127.0.0.1', next = '', quietMs = 150 } = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    let answer = ''
    const end = () => socket.destroy()
    let timer = setTimeout(end, 4 * quietMs)
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (answer === '') socket.write(next)
      answer += text
      clearTimeout(timer)
      timer = setTimeout(end, quietMs)
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(answer)
    })
    socket.write(bytes)
  })
}

const path = '/api/v1/auth/introspect'
const hidden = 'GET /api/v1/hidden HTTP/1.1\r\nHost: x\r\n\r\n'
const size = hidden.length

/** A request with these headers and this body. */
function request(headers: string[], body = '', line = `POST ${path} HTTP/1.1`): Buffer {
  const head = [line, 'Host: x', 'Content-Type: application/json', ...headers, '', '']
  return Buffer.from(head.join('\r\n') + body, 'latin1')
}

const lengths = (...headers: string[]) => request(headers, hidden)
/** For who reads the chunks, the hidden request comes after the body; for who reads the length, it is in it. */
const chunked = (...headers: string[]) => request([...headers, `Content-Length: ${size + 5}`], `0\r\n\r\n${hidden}`)
const chunks = (body: string) => request(['Transfer-Encoding: chunked'], body)
const bare = (line: string, ...headers: string[]) => Buffer.from([line, ...headers, '', ''].join('\r\n'), 'latin1')

/** Requests that the service itself must refuse, or read as one. */
export const ambiguousRequests: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['a length and chunks', chunked('Transfer-Encoding: chunked')],
  [
    'chunks and a length',
    request(['Content-Length: 4', 'Transfer-Encoding: chunked'], `${size.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`),
  ],
  ['two lengths, the first of which is 0', lengths('Content-Length: 0', `Content-Length: ${size}`)],
  ['two lengths, the last of which is 0', lengths(`Content-Length: ${size}`, 'Content-Length: 0')],
  ['a list of two lengths', lengths(`Content-Length: 0, ${size}`)],
  ['a length with a sign', lengths(`Content-Length: +${size}`)],
  ['a negative length', lengths('Content-Length: -1')],
  ['a length in hexadecimal', lengths(`Content-Length: 0x${size.toString(16)}`)],
  ['a length with a blank in it', lengths(`Content-Length: 0 ${size}`)],
  ['a length of 2^64', lengths('Content-Length: 18446744073709551616')],
  ['a length on a folded line', lengths(`Content-Length:\r\n ${size}`)],
  ['a length with a blank before the colon', lengths(`Content-Length : ${size}`)],
  ['chunks with a blank before the colon', chunked('Transfer-Encoding : chunked')],
  ['chunks with a tab before the colon', chunked('Transfer-Encoding\t: chunked')],
  ['chunks on a folded line', chunked('Transfer-Encoding:\r\n chunked')],
  ['chunks after a blank', chunked('X: y', ' Transfer-Encoding: chunked')],
  ['chunks after a vertical tab', chunked('Transfer-Encoding: \x0bchunked')],
  ['chunks before a byte of another alphabet', chunked('Transfer-Encoding: chunked\xff')],
  ['chunks before a NUL', chunked('Transfer-Encoding: chunked\0')],
  ['chunks in quotes', chunked('Transfer-Encoding: "chunked"')],
  ['chunks in capitals', chunked('TRANSFER-ENCODING: CHUNKED')],
  ['chunks twice', chunked('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ['chunks, then nothing known', chunked('Transfer-Encoding: chunked', 'Transfer-Encoding: x')],
  ['chunks, then identity', chunked('Transfer-Encoding: chunked, identity')],
  ['identity, then chunks', chunked('Transfer-Encoding: identity, chunked')],
  ['an encoding that is unknown', chunked('Transfer-Encoding: xchunked')],
  ['an underscore in place of a hyphen', chunked('Transfer_Encoding: chunked')],
  ['chunks after a line feed alone', chunked('X: y\nTransfer-Encoding: chunked')],
  ['chunks after a carriage return alone', chunked('X: y\rTransfer-Encoding: chunked')],
  ['chunks after an empty line that is none', chunked('X: y', '\rTransfer-Encoding: chunked')],
  ['chunks that the connection is told to forget', chunked('Connection: Transfer-Encoding', 'Transfer-Encoding: chunked')],
  ['a length that the connection is told to forget', lengths('Connection: Content-Length', `Content-Length: ${size}`)],
  ['chunks and an expectation', chunked('Expect: 100-continue', 'Transfer-Encoding: chunked')],
  ['a line feed in an extension of a chunk', chunks(`2;a=b\nc\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ['an extension that hides the end of a chunk', chunks(`2;\nxx\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ['a size of a chunk with 0x', chunks(`0x2\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ['a size of a chunk beyond 2^64', chunks(`10000000000000002\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ['a negative size of a chunk', chunks(`-2\r\n{}\r\n0\r\n\r\n${hidden}`)],
  ['a chunk that ends with two other bytes', chunks(`2\r\n{}XX0\r\n\r\n${hidden}`)],
  ['a name with a blank', bare(`GET ${path} HTTP/1.1`, 'Host: x', 'X Y: z')],
  ['a header without a name', bare(`GET ${path} HTTP/1.1`, 'Host: x', ': z')],
  ['a line that is no header', bare(`GET ${path} HTTP/1.1`, 'Host: x', 'GET /api/v1/hidden HTTP/1.1')],
  ['a body that GET does not have', request([`Content-Length: ${size}`], hidden, 'GET /api/v1/health HTTP/1.1')],
  ['a body that HEAD does not have', request([`Content-Length: ${size}`], hidden, 'HEAD /api/v1/health HTTP/1.1')],
  ['a body that OPTIONS does not have', request([`Content-Length: ${size}`], hidden, 'OPTIONS /api/v1/health HTTP/1.1')],
  ['a body for nothing', request([`Content-Length: ${size}`], hidden, 'POST /nowhere HTTP/1.1')],
  [
    'a body that is too large',
    request([`Content-Length: ${70_000 + size}`], 'x'.repeat(70_000) + hidden, 'POST /api/v1/auth/login HTTP/1.1'),
  ],
  ['a body that is announced', request(['Expect: 100-continue', `Content-Length: ${size}`], hidden)],
  ['a body after an expectation that nobody knows', request(['Expect: 200-ok', `Content-Length: ${size}`], hidden)],
  ['a body after an upgrade', request(['Connection: Upgrade', 'Upgrade: websocket', `Content-Length: ${size}`], hidden)],
  ['a tunnel', Buffer.concat([bare('CONNECT 127.0.0.1:80 HTTP/1.1', 'Host: 127.0.0.1:80'), Buffer.from(hidden)])],
]

/** Requests whose end is plain, in odd forms. Proxies may pass on each of them, as one, or refuse it. */
export const oddRequests: readonly (readonly [name: string, bytes: Buffer])[] = [
  [
    'chunks that HTTP/1.0 does not know',
    request(['Connection: keep-alive', 'Transfer-Encoding: chunked'], `0\r\n\r\n${hidden}`, `POST ${path} HTTP/1.0`),
  ],
  ['three at once', Buffer.from(hidden.repeat(3))],
  ['lines that end with a line feed alone', Buffer.from(hidden.replaceAll('\r\n', '\n'))],
  ['chunks whose lines end with a line feed alone', chunks(`2\n{}\n0\n\n${hidden}`)],
  ['blanks after the size of a chunk', chunks('2 \r\n{}\r\n0\r\n\r\n')],
  ['a trailer', chunks('2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n')],
  ['a trailer with a length', chunks(`2\r\n{}\r\n0\r\nContent-Length: ${size}\r\n\r\n${hidden}`)],
  ['a list of equal lengths', request(['Content-Length: 2, 2'], `{}${hidden}`)],
  ['a compression and chunks', request(['Transfer-Encoding: gzip, chunked'], `0\r\n\r\n${hidden}`)],
  ['no host', bare('GET /api/v1/health HTTP/1.1')],
  ['two hosts', bare('GET /api/v1/health HTTP/1.1', 'Host: x', 'Host: y')],
  ['a whole URL', bare('GET http://elsewhere.example/api/v1/health HTTP/1.1', 'Host: x')],
  ['a whole URL with a user', bare('GET http://u:p@elsewhere.example/api/v1/health HTTP/1.1', 'Host: x')],
  ['a second request in a header', bare('GET /api/v1/health HTTP/1.1', 'Host: /api/v1/hidden HTTP/1.1')],
  ['a second request in the line', bare('GET /api/v1/health HTTP/1.1 GET /api/v1/hidden HTTP/1.1', 'Host: x')],
  ['two blanks in the line', bare('GET  /api/v1/health  HTTP/1.1', 'Host: x')],
  ['HTTP/0.9', bare('GET /api/v1/health')],
  ['HTTP/1.2', bare('GET /api/v1/health HTTP/1.2', 'Host: x')],
  ['HTTP/2.0 in text', bare('GET /api/v1/health HTTP/2.0', 'Host: x')],
  [
    'an upgrade to HTTP/2',
    Buffer.concat([
      bare(
        'GET /api/v1/health HTTP/1.1',
        'Host: x',
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
      ),
      Buffer.from(hidden),
    ]),
  ],
  [
    'an upgrade to a socket',
    Buffer.concat([
      bare(
        'GET /api/v1/health HTTP/1.1',
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ),
      Buffer.from(hidden),
    ]),
  ],
  [
    'headers that the connection is told to forget',
    bare('GET /api/v1/health HTTP/1.1', 'Host: x', 'Connection: close, X-Request-Id, X-Forwarded-For'),
  ],
]

type Field = readonly [name: string, value: string]

/** One HTTP/2 request on a connection of its own, with its header fields exactly as they are given. */
function http2Request(fields: readonly Field[], body = ''): Buffer {
  const block = Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), http2Text(name), http2Text(value)]))
  const endHeaders = 4
  const endStream = 1
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(1, endHeaders | (body === '' ? endStream : 0), 1, block),
    ...(body === '' ? [] : [frame(0, endStream, 1, Buffer.from(body, 'latin1'))]),
  ])
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A text without Huffman's code, of less than 255 bytes. */
function http2Text(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([bytes.length < 127 ? Buffer.of(bytes.length) : Buffer.of(127, bytes.length - 127), bytes])
}

const fieldsOf = (changed: Record<string, string> = {}): Field[] =>
  Object.entries({ ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'x', ...changed })
const http2 = (name: string, value: string, body = hidden) => http2Request([...fieldsOf(), [name, value]], body)

/** HTTP/2 requests that would be two if a proxy wrote them down as HTTP/1.1 without a look. */
export const http2Requests: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['a request that is one', http2('x', 'y')],
  ['a length that is too short', http2('content-length', '0')],
  ['a length that is too long', http2('content-length', `${size + 100}`)],
  ['two lengths', http2Request([...fieldsOf(), ['content-length', '0'], ['content-length', `${size}`]], hidden)],
  ['chunks', http2('transfer-encoding', 'chunked', `0\r\n\r\n${hidden}`)],
  ['chunks in capitals', http2('Transfer-Encoding', 'chunked', `0\r\n\r\n${hidden}`)],
  ['a line break in a value', http2('x', 'y\r\ntransfer-encoding: chunked', `0\r\n\r\n${hidden}`)],
  ['a line feed in a value', http2('x', 'y\ntransfer-encoding: chunked', `0\r\n\r\n${hidden}`)],
  ['a request in a value', http2('x', `y\r\n\r\n${hidden}`)],
  ['a line break in a name', http2('x: y\r\ntransfer-encoding', 'chunked', `0\r\n\r\n${hidden}`)],
  ['a colon in a name', http2('transfer-encoding: chunked\r\nx', 'y', `0\r\n\r\n${hidden}`)],
  ['a blank in a name', http2('transfer-encoding ', 'chunked', `0\r\n\r\n${hidden}`)],
  ['a NUL in a value', http2('x', 'y\0z')],
  ['a request in the path', http2Request(fieldsOf({ ':path': `${path} HTTP/1.1\r\nHost: x\r\n\r\n${hidden}` }))],
  ['a blank in the path', http2Request(fieldsOf({ ':path': `${path} HTTP/1.1` }))],
  ['a request in the method', http2Request(fieldsOf({ ':method': `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\nGET` }))],
  ['a line break in the host', http2Request(fieldsOf({ ':authority': 'x\r\ntransfer-encoding: chunked' }), `0\r\n\r\n${hidden}`)],
  ['a request in the scheme', http2Request(fieldsOf({ ':scheme': `http://x${path} HTTP/1.1\r\nX: ` }))],
  ['two paths', http2Request([...fieldsOf(), [':path', '/api/v1/hidden']])],
  ['a path after the headers', http2Request([...fieldsOf().slice(0, 2), ['x', 'y'], ...fieldsOf().slice(2)])],
  ['another host', http2('host', 'elsewhere.example')],
  ['a header about the connection', http2('connection', 'transfer-encoding')],
  ['an upgrade', http2('upgrade', 'h2c')],
  [
    'a tunnel',
    http2Request(
      [
        [':method', 'CONNECT'],
        [':authority', '127.0.0.1:80'],
      ],
      hidden,
    ),
  ],
]
