package templates

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	commonmark "github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxBlocks limits the nesting of lists, items and quotes; markup of a deeper one is text. The
// Markdown parser keeps a record of each open block for each blank line.
const maxBlocks = 20

// reader reads CommonMark without extensions: a table would get as many cells as its rows and its
// head multiplied, however short its rows are. HTML is left out.
var reader = goldmark.New(goldmark.WithParser(commonmark.NewParser(
	commonmark.WithBlockParsers(blockParsers()...),
	commonmark.WithInlineParsers(inlineParsers()...),
	commonmark.WithParagraphTransformers(commonmark.DefaultParagraphTransformers()...),
	commonmark.WithASTTransformers(util.Prioritized(links{}, 0)),
)))

// blockParsers are those of CommonMark; what opens a block that has blocks in it is limited.
func blockParsers() []util.PrioritizedValue {
	parsers := commonmark.DefaultBlockParsers()
	for i, p := range parsers {
		if p.Value == commonmark.NewListParser() || p.Value == commonmark.NewBlockquoteParser() {
			parsers[i].Value = shallow{p.Value.(commonmark.BlockParser)}
		}
	}
	return parsers
}

// shallow limits the nesting of blocks.
type shallow struct{ commonmark.BlockParser }

// Open implements [commonmark.BlockParser].
func (s shallow) Open(parent ast.Node, lines text.Reader, with commonmark.Context) (ast.Node, commonmark.State) {
	depth := 0
	for n := parent; n.Parent() != nil; n = n.Parent() {
		depth++
	}
	// A list has items only; its parser must see each of them.
	if depth >= maxBlocks && parent.Kind() != ast.KindList {
		return nil, commonmark.NoChildren
	}
	return s.BlockParser.Open(parent, lines, with)
}

// inlineParsers are those of CommonMark; what reads code is limited.
func inlineParsers() []util.PrioritizedValue {
	parsers := commonmark.DefaultInlineParsers()
	for i, p := range parsers {
		if p.Value == commonmark.NewCodeSpanParser() {
			parsers[i].Value = closedCode{p.Value.(commonmark.InlineParser)}
		}
	}
	return parsers
}

// closedCode reads code that has an end. The search for an end that is missing allocates memory for
// each line of the rest of the block.
type closedCode struct{ commonmark.InlineParser }

// Parse implements [commonmark.InlineParser].
func (c closedCode) Parse(parent ast.Node, lines text.Reader, with commonmark.Context) ast.Node {
	known, _ := with.Get(backticksKey).(*backticks)
	if known == nil || known.block != parent {
		known = backticksOf(parent, lines.Source())
		with.Set(backticksKey, known)
	}
	line, at := lines.PeekLine()
	length := countBackticks(line)
	if known.last[length] <= at.Start {
		lines.Advance(length)
		return ast.NewTextSegment(at.WithStop(at.Start + length))
	}
	return c.InlineParser.Parse(parent, lines, with)
}

// backticks are where the last backticks of a block are, by how many stand in a row.
type backticks struct {
	block ast.Node
	last  map[int]int
}

var backticksKey = commonmark.NewContextKey()

func backticksOf(block ast.Node, source []byte) *backticks {
	found := &backticks{block: block, last: map[int]int{}}
	for _, line := range block.Lines().Sliced(0, block.Lines().Len()) {
		for i := line.Start; i < line.Stop; i++ {
			if length := countBackticks(source[i:line.Stop]); length > 0 {
				found.last[length] = i
				i += length
			}
		}
	}
	return found
}

// countBackticks is how many backticks a text begins with.
func countBackticks(s []byte) int {
	return len(s) - len(bytes.TrimLeft(s, "`"))
}
