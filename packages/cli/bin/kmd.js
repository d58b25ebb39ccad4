#!/usr/bin/env node
'use strict'

const { checkNode } = require('./checkNode.js')

if (checkNode(process.versions.node)) require('./run.js').run('kmd')
