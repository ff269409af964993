// Contact sheets for docs/pictures: many pictures in one, small enough for a repository.
import { readFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { provideChromium } from './chromium.ts'
import { encodePng } from './images.ts'

/** What is in which picture of the docs, in this order. */
export const sheets: Record<string, readonly string[]> = JSON.parse(
  readFileSync(new URL('../../docs/pictures/sheets.json', import.meta.url), 'utf8'),
)
export const pictured: readonly string[] = Object.values(sheets).flat()

export interface Tile {
  caption: string
  /** PNGs to show side by side. */
  pictures: readonly Buffer[]
}

/** Draws sheets of tiles in columns. */
export async function drawSheets(all: Readonly<Record<string, readonly Tile[]>>): Promise<Record<string, Buffer>> {
  const { executablePath, env } = await provideChromium()
  const browser = await chromium.launch({ executablePath, env: { ...process.env, ...env } })
  try {
    const page = await browser.newPage({ viewport: { width: 2264, height: 800 } })
    const drawn: Record<string, Buffer> = {}
    for (const [name, tiles] of Object.entries(all)) {
      await page.setContent(documentOf(tiles))
      const picture = await page.screenshot({ fullPage: true })
      drawn[name] = await shrink(picture, (expression) => page.evaluate(expression))
    }
    return drawn
  } finally {
    await browser.close()
  }
}

function documentOf(tiles: readonly Tile[]): string {
  const figures = tiles.map(({ caption, pictures }) => {
    const images = pictures.map((png) => `<img src="data:image/png;base64,${png.toString('base64')}">`)
    return `<figure><figcaption>${caption}</figcaption>${images.join('')}</figure>`
  })
  return `<!doctype html><style>
body { margin: 0; padding: 16px; columns: 3; column-gap: 16px; background: #fff; font: 600 16px/24px "DejaVu Sans", sans-serif }
figure { display: grid; grid-template-columns: 360px 360px; gap: 4px 8px; margin: 0 0 16px; break-inside: avoid; align-items: start }
figcaption { grid-column: 1 / -1 }
</style>${figures.join('')}`
}

/** The picture in the 256 colors that it has most of: a third of its size. */
async function shrink(png: Buffer, evaluate: (expression: string) => Promise<unknown>): Promise<Buffer> {
  const { width, height, indexes, palette } = (await evaluate(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png.toString('base64')}'
    await image.decode()
    const { width, height } = image
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(image, 0, 0)
    const pixels = new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer)
    const counts = new Map()
    // Most pixels are like the one before.
    for (let at = 0, begin = 0; at < pixels.length; at += 1) {
      if (pixels[at] === pixels[at + 1]) continue
      counts.set(pixels[at], (counts.get(pixels[at]) ?? 0) + at + 1 - begin)
      begin = at + 1
    }
    const colors = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color)
    const parts = (color) => [color & 255, (color >> 8) & 255, (color >> 16) & 255]
    const kept = colors.slice(0, 256).map(parts)
    const nearest = new Map(colors.map((color, index) => {
      if (index < 256) return [color, index]
      const far = (other) => parts(color).reduce((sum, part, at) => sum + (part - other[at]) ** 2, 0)
      return [color, kept.reduce((best, other, at) => (far(other) < far(kept[best]) ? at : best), 0)]
    }))
    const indexes = new Uint8Array(pixels.length)
    for (let at = 0; at < pixels.length; at += 1)
      indexes[at] = at > 0 && pixels[at] === pixels[at - 1] ? indexes[at - 1] : nearest.get(pixels[at])
    const base64 = (bytes) => {
      const parts = []
      for (let at = 0; at < bytes.length; at += 0x8000) parts.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)))
      return btoa(parts.join(''))
    }
    return { width, height, indexes: base64(indexes), palette: base64(Uint8Array.from(kept.flat())) }
  })()`)) as { width: number; height: number; indexes: string; palette: string }
  return encodePng(width, height, Buffer.from(indexes, 'base64'), Buffer.from(palette, 'base64'))
}
