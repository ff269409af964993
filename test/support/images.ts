// Small images, made here so that no test needs a file.
import { crc32, deflateSync } from 'node:zlib'

/** A PNG of one color, or of one that is transparent. */
export function buildPng(width: number, height: number, color: number[] = [47, 111, 222, 255]): Buffer {
  return encodePng(width, height, Buffer.alloc(width * height * 4, Buffer.from(color)))
}

/** The logo of an app that is made up: two rings in its color, one over the other. */
export function buildLogo([red = 0, green = 0, blue = 0]: number[]): Buffer {
  const [width, height, radius, thick] = [144, 96, 44, 13]
  const pixels = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const distances = [radius + 4, width - radius - 4].map((center) => Math.hypot(x + 0.5 - center, y + 0.5 - height / 2))
      const covers = distances.map((distance) =>
        Math.min(1, Math.max(0, thick / 2 + 0.5 - Math.abs(distance - radius + thick / 2))),
      )
      pixels.set([red, green, blue, Math.round(255 * Math.max(...covers))], (y * width + x) * 4)
    }
  return encodePng(width, height, pixels)
}

/** A PNG of these pixels: four bytes each, or, with a palette of three bytes a color, one. */
export function encodePng(width: number, height: number, pixels: Buffer, palette?: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, palette ? 3 : 6, 0, 0, 0], 8)
  const bytes = width * (palette ? 1 : 4)
  const rows = Array.from({ length: height }, (_, y) => [Buffer.of(0), pixels.subarray(y * bytes, (y + 1) * bytes)])
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    ...(palette ? [chunk('PLTE', palette)] : []),
    chunk('IDAT', deflateSync(Buffer.concat(rows.flat()), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** A JPEG without pixels: a comment, and the segment with its size. */
export function buildJpeg(width: number, height: number): Buffer {
  const comment = Buffer.from([0xff, 0xfe, 0x00, 0x05, 0x61, 0x62, 0x63])
  const frame = Buffer.from([
    0xff,
    0xc2,
    0x00,
    0x0b,
    0x08,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    0x01,
    0x01,
    0x11,
    0x00,
  ])
  return Buffer.concat([Buffer.from([0xff, 0xd8]), comment, frame, Buffer.from([0xff, 0xd9])])
}

/** A WebP without pixels, in each of the three forms. */
export function buildWebp(form: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const data = Buffer.alloc(16)
  if (form === 'VP8X') {
    data.writeUIntLE(width - 1, 4, 3)
    data.writeUIntLE(height - 1, 7, 3)
  } else if (form === 'VP8L') {
    data[0] = 0x2f
    data.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1)
  } else {
    data.set([0x9d, 0x01, 0x2a], 3)
    data.writeUInt16LE(width, 6)
    data.writeUInt16LE(height, 8)
  }
  const head = Buffer.alloc(20)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(28, 4)
  head.write(`WEBP${form}`, 8, 'latin1')
  head.writeUInt32LE(16, 16)
  return Buffer.concat([head, data])
}
