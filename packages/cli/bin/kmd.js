#!/usr/bin/env node
import { checkNode } from './checkNode.js'

if (checkNode(process.versions.node)) import('./run.js').then(({ run }) => run('kmd'))
