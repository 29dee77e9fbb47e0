// Package studycmd has the commands about studies: many runs of an agent, or many
// streams of problems, that answer one question.
package studycmd

// Command holds the commands about a study.
type Command struct {
	Run    runCommand    `cmd:"" default:"withargs" help:"Run the cells of a study, or those that are left; the default."`
	Status statusCommand `cmd:"" help:"Show how far a study is."`
	Report reportCommand `cmd:"" help:"Report what a study found: tables, differences, curves."`
	Export exportCommand `cmd:"" help:"Pack a finished study into one file."`
	Verify verifyCommand `cmd:"" help:"Check the archive of a study."`
}

// Help shows examples.
func (Command) Help() string {
	return `A study is a base (an experiment of sotto run, or a stream of sotto solve) and a grid: the settings in which its cells differ. Each cell runs as a command of its own. The guide is docs/study.md.

Examples:

    sotto study policies.yaml --check
    sotto study policies.yaml --dry-run
    sotto study policies.yaml
    sotto study status policies --watch
    sotto study report policies --html report.html`
}
