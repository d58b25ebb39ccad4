#!/usr/bin/env node
import { load } from './load.js'

const { main } = await load('kmd')
process.exitCode = await main(process.argv.slice(2))
