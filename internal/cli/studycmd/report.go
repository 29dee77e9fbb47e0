package studycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/spelling"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyarchive"
	"github.com/sotto-llm/sotto/internal/lab/studyreport"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// reportCommand reports what a study found.
type reportCommand struct {
	Dir      string   `arg:"" name:"dir" help:"The folder of the study, or an archive that sotto study export wrote."`
	HTML     string   `name:"html" placeholder:"FILE" help:"Write the report as one page that stands alone."`
	CSV      string   `name:"csv" placeholder:"DIR" help:"Write the data of the report into the folder DIR: cells.csv, groups.csv, differences.csv, curves.csv."`
	Figures  string   `placeholder:"DIR" help:"Write the figures into the folder DIR, a file each."`
	Format   string   `default:"svg" enum:"svg,png" placeholder:"FORMAT" help:"The format of --figures: svg, or png at twice the size (${default})."`
	Measure  []string `sep:"none" placeholder:"NAME" help:"Print only this measure; repeatable. Files have all."`
	JSON     bool     `name:"json" help:"Print the report as JSON."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt the study's records with the age identities in FILE; repeatable."`
	archiveSize
}

// Help shows examples.
func (reportCommand) Help() string {
	return `Prints the measures of each combination of values over its repetitions, and the paired differences from the baseline of the study, with intervals and corrected p-values. Cells without a result have no part in any figure, and are named. The same folder gives the same report, to the byte. A study can be reported while it runs. docs/study-report.md explains every figure and every column.

Examples:

    sotto study report memory-study
    sotto study report memory-study --html report.html
    sotto study report memory-study --csv data --figures figures --format png
    sotto study report memory-study --measure solved_share`
}

// Run prints and writes the report.
func (x *reportCommand) Run(sh *shell.Shell, names *dialectset.Set) error {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, find := x.Dir, asItIs
	if isFile(x.Dir) {
		most, err := x.bytes()
		if err != nil {
			return err
		}
		unpacked, m, end, err := unpack(ctx, sh, x.Dir, most)
		if err != nil {
			return err
		}
		defer end()
		dir, find = unpacked, inArchive(m)
	}
	r, err := studyreport.Build(ctx, dir, studyreport.Options{Identities: ids})
	switch {
	case errors.Is(err, study.ErrNone):
		return errorhint.Add(err, "want the folder that sotto study made")
	case err != nil:
		return err
	}
	if err := x.checkMeasures(r.Kind); err != nil {
		return err
	}
	if err := x.since(sh, names, dir, ids, find); err != nil {
		return err
	}
	if x.JSON {
		err = shell.PrintJSON(sh.Out, r)
	} else {
		err = r.Print(sh.Text, x.Measure...)
	}
	return errors.Join(err, x.write(sh, r))
}

// since says what is otherwise now than when the study ran. It is not a part of the report,
// which is the same wherever it is made.
func (x *reportCommand) since(sh *shell.Shell, names *dialectset.Set, dir string, ids []age.Identity, find func(study.Input) (study.Input, error)) error {
	s, err := study.OpenWhole(dir, ids...)
	if err != nil {
		return err
	}
	digest, err := dialectsDigest(names)
	if err != nil {
		return err
	}
	for _, text := range s.Since(version(), digest, find) {
		sh.Hintf("since the study ran: %s", visible.Text(text))
	}
	return nil
}

// asItIs finds an input where it was. A relative name says nothing in another working
// directory, so one that is not found is not missed.
func asItIs(was study.Input) (study.Input, error) {
	is, err := study.InputOf(was.Name)
	if err != nil && !filepath.IsAbs(was.Name) {
		return was, nil
	}
	return is, err
}

// inArchive finds the inputs of an archive, which are those of the study or are not there.
func inArchive(m *studyarchive.Manifest) func(study.Input) (study.Input, error) {
	return func(was study.Input) (study.Input, error) {
		for _, in := range m.Inputs {
			if in.Name == was.Name && in.File != "" {
				return in.Input, nil
			}
		}
		if m.Sealed {
			return was, nil
		}
		return was, errors.New("not in the archive")
	}
}

// checkMeasures refuses the name of a measure that this kind of study does not have.
func (x *reportCommand) checkMeasures(kind study.Kind) error {
	var names []string
	for _, m := range study.Measures(kind) {
		names = append(names, m.Name)
	}
	for _, name := range x.Measure {
		if !slices.Contains(names, name) {
			return errorhint.Usage(fmt.Errorf("--measure %q: not a measure of such studies", name), spelling.DidYouMean(name, names, ""))
		}
	}
	return nil
}

// write writes the files that the flags ask for.
func (x *reportCommand) write(sh *shell.Shell, r *studyreport.Report) error {
	if x.HTML != "" {
		page, err := r.Page()
		if err != nil {
			return err
		}
		if err := sh.WriteFile(x.HTML, page); err != nil {
			return err
		}
	}
	if x.CSV != "" {
		list, err := r.CSV()
		if err != nil {
			return err
		}
		if err := report.WriteFiles(x.CSV, list, sh.WriteFile); err != nil {
			return err
		}
	}
	if x.Figures == "" {
		return nil
	}
	var list []report.File
	var err error
	for _, p := range r.Pictures() {
		data := p.Drawing.SVG()
		if x.Format == "png" {
			if data, err = p.Drawing.PNG(); err != nil {
				return err
			}
		}
		list = append(list, report.File{Name: p.Name + "." + x.Format, Data: data})
	}
	return report.WriteFiles(x.Figures, list, sh.WriteFile)
}
