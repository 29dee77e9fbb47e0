// Package screens has the screens of a console that show experiments: runs, sessions,
// memories, studies, and the evaluation of answers. A gateway's program does without.
package screens

import (
	"embed"
	"html/template"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/lab/scoreview"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

// Config says what the screens show.
type Config struct {
	// Record is what the console reads; nil without one.
	Record *sidecar.Store
	// Name names the record on the page: its folder.
	Name string
	// Named finds dialects. If it is nil, those that are built in.
	Named func(string) (*sotto.Grammar, error)
	// Scores are the scored files that the evaluation shows; nil if none was named.
	Scores *scoreview.Files
	// Studies are the studies that the page shows; nil without any.
	Studies *Studies
	// Memory is the file of a memory that the page shows beside that of the record; it
	// may be nil.
	Memory *runview.File
}

// A lab makes the pages of the screens.
type lab struct {
	Config
	runs   *runview.Source
	scores *scoreview.Files
}

//go:embed templates assets
var files embed.FS

// Screens are the screens that there is something to show on.
func Screens(c Config) *console.Extension {
	l := &lab{Config: c, runs: runview.NewSource(c.Record), scores: scoresOf(&c)}
	x := &console.Extension{
		Files: files, Style: report.FigureRules(),
		Functions: template.FuncMap{"state": stateOf, "shade": shade, "share": share, "said": said, "paired": paired},
	}
	if c.Record != nil {
		x.Screens, x.Steps = append(x.Screens, l.runsScreen(), l.sessionsScreen()), l.runs.Answer
	}
	if c.Record != nil || c.Memory != nil {
		x.Screens = append(x.Screens, l.memoryScreen())
	}
	if c.Studies != nil {
		x.Screens = append(x.Screens, l.studiesScreen())
	}
	if c.Record != nil || c.Scores != nil {
		x.Screens = append(x.Screens, l.evaluationScreen())
	}
	return x
}

func (l *lab) runsScreen() console.Screen {
	return console.Screen{
		Path: "runs", Key: "r", Icon: "M3 5h6M6 10h8M11 15h6", Before: "search",
		Routes: map[string]console.Handler{"": l.listRuns, "{run}": l.oneRun, "{run}/compare": l.compareRuns},
	}
}

func (l *lab) sessionsScreen() console.Screen {
	return console.Screen{Path: "sessions", Under: "runs", Before: "search", Routes: map[string]console.Handler{"": l.session}}
}

func (l *lab) memoryScreen() console.Screen {
	return console.Screen{
		Path: "memory", Key: "m", Before: "search", Routes: map[string]console.Handler{"": l.memory},
		Icon: "M4 5a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M13 10a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M4 15a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M7 5.500l6 4M7 14.500l6-4",
	}
}

func (l *lab) studiesScreen() console.Screen {
	return console.Screen{
		Path: "studies", Key: "t", Icon: "M3 3h4v4H3zM8 3h4v4H8zM13 3h4v4h-4zM3 8h4v4H3zM8 8h4v4H8zM3 13h4v4H3z", Before: "search",
		Routes: map[string]console.Handler{"": l.studyList, "{study}": l.oneStudy, "{study}/report": l.studyPage, "{study}/compare": l.compareCells},
	}
}

func (l *lab) evaluationScreen() console.Screen {
	return console.Screen{
		Path: "evaluation", Key: "v", Icon: "M4 10.500l3 3 4-6M13 6h4M13 10h4M13 14h4", Before: "health",
		Routes: map[string]console.Handler{"": l.evaluation, "{line}": l.scoredLine},
	}
}
