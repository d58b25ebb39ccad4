import { render } from 'preact'
import { App } from './App.js'
import './styles/index.css'

const root = document.getElementById('app')!
// Removes the placeholder that the page shows until its script has loaded.
root.replaceChildren()
render(<App />, root)
