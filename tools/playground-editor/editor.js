// The editor of `podberth playground`: CodeMirror 6 behind four functions. `make playground-editor` bundles this file.
// The editor lives in a shadow root: there CodeMirror adopts its style sheets, and the page's policy needs no inline style.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentService, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  drawSelection, EditorView, highlightActiveLine, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'DejaVu Sans Mono', monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--faint)", backgroundColor: "var(--panel)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--active)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selected)" },
  ".cm-panels, .cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--panel)", borderColor: "var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--paper)", backgroundColor: "var(--accent)" },
  // CodeMirror's own marks are pictures in data: addresses, which the page's policy forbids.
  ".cm-lintRange": { backgroundImage: "none" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)" },
  ".cm-lintRange-hint": { backgroundImage: "none", textDecoration: "underline dotted var(--faint)" },
  ".cm-lint-marker": { content: "normal", width: ".7em", height: ".7em", margin: ".35em 0", borderRadius: "50%" },
  ".cm-lint-marker-error": { content: "normal", backgroundColor: "var(--bad)" },
  ".cm-lint-marker-warning": { content: "normal", backgroundColor: "var(--warn)" },
  ".cm-lint-marker-hint": { content: "normal", backgroundColor: "var(--faint)" },
  ".cm-meaning": { maxWidth: "32rem", padding: ".3rem .6rem", whiteSpace: "pre-wrap" },
});

const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.meta, tags.punctuation], color: "var(--faint)" },
]));

const severities = { error: "error", warning: "warning", note: "hint" };

function offset(doc, place) {
  const line = doc.line(Math.min(place.line + 1, doc.lines));
  return Math.min(line.from + place.column, line.to);
}

function place(doc, at) {
  const line = doc.lineAt(at);
  return { line: line.number - 1, column: at - line.from };
}

// The grammar of YAML indents a new line by the value before it. A new line is as deep as the key before it, and two more
// columns after a key or a block scalar that goes on; the grammar indents only inside brackets.
const indentation = indentService.of((context, at) => {
  if (context.simulatedBreak !== at) return undefined;
  const line = context.lineAt(at, -1).text.replace(/(^|\s)#.*$/, "").trimEnd();
  if (/[[{(]$/.test(line)) return undefined;
  const [items] = /^\s*(- +(?=[^\s:]+:(\s|$)))*/.exec(line);
  return items.length + (/(:|:\s+[|>][-+0-9]*)$/.test(line) ? 2 : 0);
});

/** Make an editor in `parent`. `ask(what, place)` returns a promise of what the server knows; null for nothing. */
export function createEditor({ parent, label, text, changed, ask }) {
  const root = parent.attachShadow({ mode: "open" });

  async function complete(context) {
    const before = context.matchBefore(/[\w./-]+/);
    if (!before && !context.explicit && !/[.?']$/.test(context.state.sliceDoc(Math.max(0, context.pos - 1), context.pos))) {
      return null;
    }
    const found = await ask("complete", place(context.state.doc, context.pos));
    return found && {
      from: offset(context.state.doc, found.from),
      validFor: /^[\w./-]*$/,
      options: found.items.map((item, index) => ({
        label: item.label, detail: item.detail, info: item.meaning || undefined, apply: item.insert,
        type: item.kind, boost: -index / 1000,
      })),
    };
  }

  const hover = hoverTooltip(async (view, at) => {
    const found = await ask("hover", place(view.state.doc, at));
    return found && {
      pos: offset(view.state.doc, found.from),
      end: offset(view.state.doc, found.to),
      create() {
        const dom = document.createElement("div");
        dom.className = "cm-meaning";
        dom.textContent = found.text;
        return { dom };
      },
    };
  });

  const extensions = [
    lineNumbers(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(),
    highlightSelectionMatches(), indentation, yaml(), look, colours, hover, autocompletion({ override: [complete] }),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    // Tab leaves the editor, so that the page can be used by the keyboard alone.
    keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap]),
    EditorView.updateListener.of((update) => update.docChanged && changed()),
  ];
  const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: text, extensions }) });

  return {
    text: () => view.state.doc.toString(),
    replace(content) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: content } });
    },
    mark(found) {
      const doc = view.state.doc;
      view.dispatch(setDiagnostics(view.state, found.map((each) => ({
        from: offset(doc, each.from), to: offset(doc, each.to), severity: severities[each.level],
        source: each.source, message: each.message,
      }))));
    },
    go(line) {
      const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines)).from;
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
  };
}
