/** The msgpack subset that Algorand uses: read leniently and with limits, and written in its shortest form. */
export { DecodeError, Reader } from './internal/MsgpackReader.js'
export { EncodeError, Writer } from './internal/MsgpackWriter.js'
