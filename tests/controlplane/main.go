// Command podberth-controlplane is etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// kubectl in one static executable, for tests and demonstrations.
//
// The five share most of their packages, so one link costs a third of what five would in time and in
// disk, and a machine that has Go needs no image registry and no download site to get them: the
// published Go modules in go.mod are all there is.
//
// It runs what its first argument names ("podberth-controlplane etcd --name=…"), or what it was
// started as: a folder of links named after the five serves as KUBEBUILDER_ASSETS.
//
// The part of a kubelet that tests need is not here but in nodes.py: every change to this file costs
// each reader a new link, and a simulated node has to work beside other people's binaries too.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJob time zones on machines without a zone database

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl against an existing cluster's kubeconfig
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components run with os.Args cut down to their own (name first) and return an exit status.
var components = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubectl":                 runKubectl,
}

func main() {
	run, known := components[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run, known = components[os.Args[0]]
	}
	if !known {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "podberth-controlplane: want one of %s first\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Exit(run())
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

// runKubectl reports errors as kubectl's own main does, so that "Error from server (Forbidden): …"
// reads the same in a test as at a prompt.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
