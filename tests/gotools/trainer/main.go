// Kubeflow's Trainer, v2, and JobSet, of which it makes its jobs: their own controllers, and JobSet's webhooks, from
// their published modules. One program, for they are built of the same packages.
//
//	trainer HEALTH_ADDRESS WEBHOOK_PORT CERTIFICATES
//
// CERTIFICATES is a folder with tls.crt and tls.key. What their main packages have besides is left out: Trainer's
// webhooks, which validate, and the rotation of certificates, which both keep in a folder that two of them would share.
// KUBECONFIG says which cluster.
package main

import (
	"log"
	"os"
	"strconv"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercontrollers "github.com/kubeflow/trainer/v2/pkg/controller"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

// JobSet's own default (its --kube-api-qps and --kube-api-burst).
const requestsPerSecond = 500

func main() {
	ctrl.SetLogger(zap.New())
	port, err := strconv.Atoi(os.Args[2])
	must(err)
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, coscheduling.AddToScheme,
	} {
		must(add(kinds))
	}
	access := ctrl.GetConfigOrDie()
	access.QPS, access.Burst = requestsPerSecond, requestsPerSecond
	manager, err := ctrl.NewManager(access, ctrl.Options{
		Scheme:                 kinds,
		Client:                 client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: os.Args[1],
		WebhookServer:          webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: os.Args[3]}),
	})
	must(err)
	must(manager.AddReadyzCheck("readyz", manager.GetWebhookServer().StartedChecker()))
	running := ctrl.SetupSignalHandler()

	must(jobsetcontrollers.SetupJobSetIndexes(running, manager.GetFieldIndexer()))
	must(jobsetcontrollers.SetupPodIndexes(running, manager.GetFieldIndexer()))
	recorder := manager.GetEventRecorderFor
	must(jobsetcontrollers.NewJobSetReconciler(manager.GetClient(), kinds, recorder("jobset")).SetupWithManager(manager))
	must(jobsetcontrollers.NewPodReconciler(manager.GetClient(), kinds, recorder("pod")).SetupWithManager(manager))
	defaults, err := jobsetwebhooks.NewJobSetWebhook(manager.GetClient())
	must(err)
	must(defaults.SetupWebhookWithManager(manager))
	must(jobsetwebhooks.NewPodWebhook(manager.GetClient()).SetupWebhookWithManager(manager))

	runtimes, err := core.New(running, manager.GetClient(), manager.GetFieldIndexer())
	must(err)
	_, err = trainercontrollers.SetupControllers(manager, runtimes, controller.Options{})
	must(err)
	must(manager.Start(running))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
