package program

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// Version is the command that prints the version.
type Version struct{}

// Help shows examples.
func (Version) Help() string {
	return "Example:\n\n    sotto version"
}

// Run prints what the build knows about itself.
func (Version) Run(sh *shell.Shell, app *kong.Application) error {
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintln(sh.Out, versionLine(app.Name, info))
	return err
}

// A versionFlag prints the version instead of running a command.
type versionFlag bool

// BeforeReset prints the version before the rest of the line is parsed.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	status := shell.StatusDone
	if _, err := fmt.Fprintln(app.Stdout, versionLine(app.Model.Name, info)); err != nil {
		fmt.Fprintf(app.Stderr, "%s: error: %v\n", app.Model.Name, err)
		status = shell.StatusFailed
	}
	app.Exit(status)
	return nil
}

// versionLine returns the name of the program, version, revision, compiler and platform on one line.
func versionLine(name string, info *debug.BuildInfo) string {
	setting := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			setting[s.Key] = s.Value
		}
	}
	parts := []string{name + " " + buildOf(info)}
	if at := setting["vcs.time"]; at != "" {
		parts = append(parts, at)
	}
	parts = append(parts, runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
	return strings.Join(parts, ", ")
}

// Build returns version and revision.
func Build() string {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) string {
	version, revision, modified := "(devel)", "", ""
	if info != nil {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = ", revision " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", modified"
			}
		}
	}
	return version + revision + modified
}
