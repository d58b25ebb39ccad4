/** Reads a QR code from the screen, as a phone camera does. */
import decodeQr from 'qr/decode.js'
import type { Browser, Locator } from './chromium.test.helper.js'

export async function readQrCode(browser: Browser, code: Locator): Promise<string> {
  const png = (await code.screenshot()).toString('base64')
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    // The browser decodes the picture: a page without a content security policy may fetch its own data.
    const { width, height, pixels } = await page.evaluate(async (base64) => {
      const response = await fetch(`data:image/png;base64,${base64}`)
      const image = await createImageBitmap(await response.blob())
      const drawing = new OffscreenCanvas(image.width, image.height).getContext('2d')!
      drawing.drawImage(image, 0, 0)
      const { data } = drawing.getImageData(0, 0, image.width, image.height)
      // Passed as text, because a list of a million numbers takes the debugger half a minute.
      const pixels = btoa(data.reduce((text, byte) => text + String.fromCharCode(byte), ''))
      return { width: image.width, height: image.height, pixels }
    }, png)
    return decodeQr({ width, height, data: new Uint8Array(Buffer.from(pixels, 'base64')) }, { timeLimit: 10_000 })
  } finally {
    await context.close()
  }
}
