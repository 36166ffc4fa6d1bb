// Package arch checks the structure of the source tree: imports, folders and the length of files.
// It reads only imports and comments. The rules are the tables in rules.go.
package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is one Go file.
type source struct {
	path    string // from the top of the tree, with slashes
	file    *ast.File
	lines   int
	isTest  bool
	written bool // by a person, not generated
}

// Check returns the violations of a tree, one sentence each, sorted. Missing folders are no
// violation.
func Check(tree fs.FS) ([]string, error) {
	var problems []string
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(topLevel, entry.Name()) {
			problems = append(problems, entry.Name()+": nothing of this name belongs at the top level")
		}
	}
	sources, err := read(tree)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		problems = append(problems, checkImports(s)...)
		problems = append(problems, checkDialing(s)...)
		if s.written && !s.isTest && s.lines > longestFile {
			problems = append(problems, fmt.Sprintf("%s: %d lines, at most %d are allowed", s.path, s.lines, longestFile))
		}
	}
	problems = append(problems, checkComments(sources)...)
	slices.Sort(problems)
	return problems, nil
}

// read parses every Go file that the go command would build or test in this module.
func read(tree fs.FS) ([]source, error) {
	var sources []source
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(tree, name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		sources = append(sources, source{path: name, file: file, lines: bytes.Count(text, []byte("\n")),
			isTest: strings.HasSuffix(name, "_test.go"), written: !ast.IsGenerated(file)})
		return nil
	})
	return sources, err
}

// skip returns fs.SkipDir for the folders that the go command ignores.
func skip(tree fs.FS, folder string) error {
	if folder == "." {
		return nil
	}
	name := path.Base(folder)
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(folder, "go.mod")); err == nil { // its own module
		return fs.SkipDir
	}
	return nil
}

func checkImports(s source) []string {
	folder := path.Dir(s.path)
	rule, found := layerOf(folder)
	if !found {
		return []string{s.path + ": no rule says what this folder may import"}
	}
	var problems []string
	for _, spec := range s.file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			problems = append(problems, s.path+": "+err.Error())
			continue
		}
		if reason := rule.objection(s, folder, imported); reason != "" {
			problems = append(problems, fmt.Sprintf("%s: imports %s: %s", s.path, imported, reason))
		}
	}
	return problems
}

// checkDialing reports drivers that connect without their guard.
func checkDialing(s source) []string {
	if s.isTest || !slices.ContainsFunc(drivers, func(folder string) bool { return covers(folder, path.Dir(s.path)) }) {
		return nil
	}
	var problems []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		var used string
		switch n := n.(type) {
		case *ast.SelectorExpr:
			used = selected(n)
		case *ast.CompositeLit:
			if selected(n.Type) == "http.Client" && !slices.ContainsFunc(n.Elts, sets("Transport")) {
				used = "http.DefaultTransport"
			}
		}
		if slices.Contains(dialing, used) {
			problems = append(problems, fmt.Sprintf("%s: %s does not ask the guard of adapters/outbound", s.path, used))
		}
		return true
	})
	return problems
}

// selected returns an expression of the form package.Name; empty for any other expression.
func selected(e ast.Expr) string {
	if selector, is := e.(*ast.SelectorExpr); is {
		if pkg, named := selector.X.(*ast.Ident); named {
			return pkg.Name + "." + selector.Sel.Name
		}
	}
	return ""
}

// sets returns a function that reports whether an element of a composite literal sets a field.
func sets(field string) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		pair, is := e.(*ast.KeyValueExpr)
		if !is {
			return false
		}
		name, named := pair.Key.(*ast.Ident)
		return named && name.Name == field
	}
}

func layerOf(folder string) (layer, bool) {
	var best layer
	for _, l := range layers {
		if len(l.folder) > len(best.folder) && covers(l.folder, folder) {
			best = l
		}
	}
	return best, best.folder != ""
}

// objection returns why a file in a folder of this layer must not import a package; empty if it
// may.
func (l layer) objection(s source, folder, imported string) string {
	ours, isOurs := strings.CutPrefix(imported, module+"/")
	switch {
	case isOurs && s.isTest && l.folder != "domain":
		return ""
	case isOurs:
		return l.objectionToOurs(folder, ours)
	case s.isTest:
		return ""
	case !strings.Contains(strings.Split(imported, "/")[0], "."):
		if l.pure && below(impure, imported) && !below(pureAfterAll, imported) && !below(l.spared, imported) {
			return l.folder + " does no I/O"
		}
		return ""
	}
	if l.modules != nil && !below(l.modules, imported) {
		return l.folder + " depends on no such module"
	}
	for _, t := range technologies {
		if l.folder != "test" && below([]string{t.module}, imported) && !below(t.folders, folder) {
			return t.module + " belongs elsewhere"
		}
	}
	return ""
}

func (l layer) objectionToOurs(folder, imported string) string {
	for _, allowed := range l.ours {
		switch {
		case below(l.never, imported):
		case allowed == "*" && !covers("test", imported):
			return ""
		// A folder of several, such as adapters/*, may import itself, but not its neighbours.
		case strings.HasSuffix(allowed, "/*"):
			if covers(first(folder, 2), imported) {
				return ""
			}
		case covers(allowed, imported):
			return ""
		}
	}
	return l.folder + " must not know it"
}

// checkComments requires a package comment in every package that is not generated.
func checkComments(sources []source) []string {
	code, tests := map[string][]source{}, map[string][]source{}
	for _, s := range sources {
		if s.isTest {
			tests[path.Dir(s.path)] = append(tests[path.Dir(s.path)], s)
		} else {
			code[path.Dir(s.path)] = append(code[path.Dir(s.path)], s)
		}
	}
	for folder, files := range tests {
		if len(code[folder]) == 0 { // tests are the package only where they are all there is
			code[folder] = files
		}
	}
	var problems []string
	for folder, files := range code {
		files = slices.DeleteFunc(files, func(s source) bool { return !s.written })
		described := func(s source) bool { return strings.TrimSpace(s.file.Doc.Text()) != "" }
		if len(files) > 0 && !slices.ContainsFunc(files, described) {
			problems = append(problems, folder+": no comment says what this package knows and refuses to know")
		}
	}
	return problems
}

// covers reports whether folder is pattern or below it; a last element `*` stands for any name.
func covers(pattern, folder string) bool {
	if parent, isStar := strings.CutSuffix(pattern, "/*"); isStar {
		return strings.HasPrefix(folder, parent+"/")
	}
	return folder == pattern || strings.HasPrefix(folder, pattern+"/")
}

func below(patterns []string, imported string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, imported) })
}

// first returns the first n elements of a path.
func first(folder string, n int) string {
	elements := strings.Split(folder, "/")
	return path.Join(elements[:min(n, len(elements))]...)
}
