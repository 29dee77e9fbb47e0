package scorecmd

import (
	"io"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/cli/manner"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/scoring"
	"github.com/sotto-llm/sotto/internal/lab/shards"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// shard processes a part of the inputs. scores returns the counts of the run; it is nil if
// nothing is judged.
func (b *batchRun) shard(x *common, c *dialectset.Set, as *reading.Invocation, scores func() *scoring.Scores, versus *comparison) error {
	w := &reading.ShardWork{
		Invocation: as, Records: b.records, Names: b.files, Output: x.Output, Catalogue: c,
		Task:  b.extractor.Task.Name(),
		Rules: answer.Extract(b.extractor.Task, "", answer.Problem{}, answer.Options{}).Rules,
		Each:  b.piece,
		Finish: func(run *shards.Run, m *shards.Manifest) (*shards.Draft, error) {
			m.Read = b.watch.Tally()
			if b.reader.Golds != nil {
				m.Asked = b.reader.Golds.Asked()
			}
			if versus != nil {
				m.Compared = versus.part()
			}
			if scores == nil {
				return nil, nil
			}
			return finishScores(run, m, scores())
		},
	}
	if err := x.RunShard(b.sh, w); err != nil {
		return err
	}
	b.watch.ReportRead(b.sh)
	b.watch.Report(b.sh)
	manner.ReportUnknown(b.sh, b.reader.Lines, b.extractor.Manner)
	return nil
}

// piece processes a piece of the inputs.
func (b *batchRun) piece(in *reading.Input, out io.Writer, count func(batch.LineFunc) batch.LineFunc) error {
	src := newSource(in, in.Name)
	src.origin.Order = b.piecesDone
	b.piecesDone++
	line := count(b.line(src))
	if b.added != nil {
		line = b.added.Merge(line)
	}
	if b.filter != nil {
		out = b.filter(out)
	}
	return runPipeline(b.sh, src, b.evidence.guard(out), b.evidence.together(&batch.Pipeline{Line: line}))
}

// finishScores adds the scores to the manifest, and begins the file of the problems.
func finishScores(run *shards.Run, m *shards.Manifest, s *scoring.Scores) (groups *shards.Draft, err error) {
	if m.Scores, err = s.Counts(); err != nil || !s.Grouped() {
		return nil, err
	}
	if groups, err = run.Folder.Begin(run.Job.Shard.Name() + shards.GroupsEnd); err != nil {
		return nil, err
	}
	if err := s.WriteGroups(groups); err != nil {
		groups.Discard()
		return nil, err
	}
	file := groups.Describe()
	m.Groups = &file
	return groups, nil
}
