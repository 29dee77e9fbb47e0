package databackup

import (
	"github.com/sotto-llm/sotto/internal/lab/databases"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
)

// known are the databases of the program with all commands.
var known = Databases{
	Tasks:  {Copy: databases.CopyTasks, Check: databases.CheckTasks},
	Memory: {Copy: databases.CopyMemory, Check: metagraph.Check},
}
