export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp'

interface ImageFacts {
  type: ImageType
  width: number
  height: number
}

/** The type and size of an image, by its content. Undefined for everything but PNG, JPEG and WebP. Decodes no pixels. */
export function readImage(bytes: Buffer): ImageFacts | undefined {
  const size = sizeOfPng(bytes) ?? sizeOfJpeg(bytes) ?? sizeOfWebp(bytes)
  return size && size.width > 0 && size.height > 0 ? size : undefined
}

const pngStart = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

function sizeOfPng(bytes: Buffer): ImageFacts | undefined {
  if (bytes.length < 33 || !bytes.subarray(0, 16).equals(pngStart)) return undefined
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

/** Walks over the segments to the one that begins a frame. Each step goes forward, so it ends. */
function sizeOfJpeg(bytes: Buffer): ImageFacts | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    const isFiller = marker === 0xff
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { type: 'image/jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += isFiller ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}

function sizeOfWebp(bytes: Buffer): ImageFacts | undefined {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return undefined
  const type = 'image/webp'
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
    case 'VP8L': {
      const packed = bytes.readUInt32LE(21)
      return bytes[20] === 0x2f ? { type, width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 } : undefined
    }
    case 'VP8 ': {
      const isKeyFrame = bytes.toString('hex', 23, 26) === '9d012a'
      return isKeyFrame ? { type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff } : undefined
    }
    default:
      return undefined
  }
}
