package main

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A target is a package whose places are broken.
type target struct {
	dir    string   // below the module
	files  []string // all if empty
	strict bool     // each survivor must be listed
	suites []suite  // what a mutant must fail; if empty, each test of the package that reaches it
}

// targets are the packages that are broken. Of the root these are the files that read a
// reply: not what compiles and checks a dialect.
var targets = []target{
	{dir: ".", strict: true, suites: suites, files: []string{
		"state.go", "pads.go", "doubts.go", "held.go", "holds.go", "start.go", "view.go", "absorb.go",
		"blocks.go", "calls.go", "channel.go", "coderuns.go", "diagnostics.go", "easy.go", "events.go", "filter.go",
		"fence.go", "header.go", "lexer.go", "lextables.go", "lookahead.go", "markers.go", "notes.go", "outlet.go", "parse.go", "prompttail.go",
		"reasoning.go", "splice.go", "splitter.go", "stream.go", "tags.go", "text.go", "forms.go", "window.go",
	}},
	{dir: "a2aserver"},
	{dir: "agent"},
	{dir: "answer"},
	{dir: "gateway"},
	{dir: "history"},
	{dir: "internal/base/bytescan"},
	{dir: "internal/console"},
	{dir: "internal/serve/settings"},
	{dir: "internal/lab/study"},
	{dir: "record"},
}

// suites are the tests that a mutant of the root must fail, the quick ones first.
// TestReadme builds another program, in which nothing is broken.
var suites = []suite{
	{"./dialecttest", []string{"-test.run", "^TestEveryCut$"}, false},
	{".", []string{"-test.skip", "^(TestReadme|TestData.*|TestCorpus|TestDiagnosticsAreBounded|TestFarCloses|TestResetReadsAfresh|Fuzz.*)$"}, false},
	{"./dialecttest", []string{"-test.run", "^TestShortReplies$/^[12]/"}, true},
	{"./dialecttest", []string{"-test.run", "^(TestDefault|TestShortLiterals|TestSeveralMarkersOfARole|TestDeclaredCalls|TestFound|TestLateOutput|TestALaterPadTakesOver|TestExpiryReleases)$"}, false},
	{".", []string{"-test.run", "^(TestData.*|TestCorpus|TestDiagnosticsAreBounded|TestFarCloses|TestResetReadsAfresh|Fuzz.*)$"}, false},
	{"./dialecttest", []string{"-test.run", "^TestShortReplies$/^3/"}, true},
	{"./dialecttest", []string{"-test.run", "^TestGenerated$"}, false},
}

// names returns the target's files, of all files of its package.
func (t target) names(all []string) []string {
	if len(t.files) > 0 {
		return t.files
	}
	return all
}

// A choice is what the command line asks for of one package.
type choice struct {
	target target
	keys   map[string]bool // those that may be tried
	most   int             // how many of them are
}

// choose returns what the command line asks for: an equal number of each package if it
// is a sample. lists has the keys of each target.
func (o options) choose(lists [][]string) []choice {
	var choices []choice
	for i, t := range targets {
		keys := map[string]bool{}
		for _, key := range lists[i] {
			file, _, _ := strings.Cut(key, " ")
			if (o.only == "" || o.only == t.dir || o.only == file) && strings.Contains(key, o.match) && (o.earlier == nil || o.earlier[key]) {
				keys[key] = true
			}
		}
		if len(keys) > 0 {
			choices = append(choices, choice{target: t, keys: keys, most: len(keys)})
		}
	}
	if o.sample == 0 {
		return choices
	}
	rnd := rand.New(rand.NewPCG(o.seed, 0))
	rnd.Shuffle(len(choices), func(i, j int) { choices[i], choices[j] = choices[j], choices[i] })
	// The small ones first, which leave room that they do not need to the others.
	slices.SortStableFunc(choices, func(a, b choice) int { return len(a.keys) - len(b.keys) })
	left := o.sample
	for i := range choices {
		choices[i].most = min(len(choices[i].keys), left/(len(choices)-i))
		left -= choices[i].most
	}
	return slices.DeleteFunc(choices, func(c choice) bool { return c.most == 0 })
}

// pick returns the mutants of a choice, of all those of its package.
func (c choice) pick(all []mutant, seed uint64) []mutant {
	mutants := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !c.keys[m.key] || m.invalid })
	if c.most < len(c.keys) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
		mutants = mutants[:min(c.most, len(mutants))]
	}
	return mutants
}
